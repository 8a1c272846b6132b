#include "agdx/topology.hpp"

#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr const char* default_ops_stream = "_agdx";
constexpr const char* default_changes_topic = "changes";

constexpr Field topology_fields[] = {
    text("ops_stream").otherwise(default_ops_stream),
    text("control_topic").otherwise("control.commands"),
    text("dlq_topic").otherwise("dlq"),
    text("changes_topic").otherwise(default_changes_topic),
    text("kv_mutations_topic").otherwise("kv.mutations"),
    text("fork_mutations_topic").otherwise("fork.mutations"),
    text("graph_mutations_topic").otherwise("graph.mutations"),
    text("checkpoint_mutations_topic").otherwise("checkpoint.mutations"),
};

std::string named(tape::Value topology, std::string_view key, std::string_view otherwise) {
  const auto value = topology.get(key).text();
  return std::string{value.empty() ? otherwise : value};
}

}  // namespace

constexpr Message wire_topology{topology_fields};

FeedTopic feed_topic(tape::Value topology, bool stream_tenancy, std::string_view scope) {
  FeedTopic feed{named(topology, "ops_stream", default_ops_stream), {}};
  if (stream_tenancy && !scope.empty()) {
    feed.topic = "stream:";
    feed.topic += scope;
    feed.topic += "/_agdx/changes";
  } else {
    feed.topic = named(topology, "changes_topic", default_changes_topic);
  }
  return feed;
}

}  // namespace tidemark::agdx
