#pragma once

#include <string>
#include <string_view>

#include "agdx/message.hpp"

// Where the managed plane keeps its topics, sections 7.1 and 7.3 of the contract.
namespace tidemark::agdx {

extern const Message wire_topology;

struct FeedTopic {
  std::string stream;
  std::string topic;
};

// `topology` is an announced topology, or a value that does not exist: the defaults. `scope` is the default
// stream of a handle that scopes names, or empty; it matters where the server has stream tenancy.
FeedTopic feed_topic(tape::Value topology, bool stream_tenancy, std::string_view scope);

}  // namespace tidemark::agdx
