#pragma once

#include <span>
#include <string_view>

#include "agdx/topology.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

// What the server is known to serve, section 6.2 of the contract.
namespace tidemark::agdx {

enum class Hello : std::uint8_t { unknown, answered, rejected, failed };

// Writes the capability set: the configured one (may be null or partial) plus what a decoded announce adds
// (null when there is none). Nothing is taken away by an announce.
//
// { managed, graph, forks, a2a_gateway, sessions, watch, authz, stream_tenancy: bool, hello, versions?,
// backends,
//   query { available, consistency, keyword, cursor_paging, cancellation, execution_status },
//   kv { available, cas, cas_fenced, fenced_leases }, destinations { available, consistency },
//   filters { native, catalog, group_policy_reads, max_wait_ms, evaluation? } }
void write_capabilities(tape::Value configured, tape::Value announce, Hello hello, bytes::Buffer& out);

// Section 6.4 and 6.5, on a capability set.
bool is_enabled(tape::Value backend);
bool is_unready(tape::Value backend);
bool is_ready(tape::Value capabilities);
std::uint32_t unready_backends(tape::Value capabilities);
// eventual < read_your_writes < strong.
bool serves_consistency(tape::Value capabilities, std::string_view level);

// The set a connection holds, moved on by probes.
class Capabilities {
 public:
  // `configured` is a capability set (or a part of one) as a tape; empty: everything off.
  explicit Capabilities(std::span<const std::uint8_t> configured = {});

  void answered(tape::Value announce);
  void rejected() { reset(Hello::rejected); }
  void failed() { reset(Hello::failed); }

  tape::Value value() const { return tape::Value{held_}; }
  Hello hello() const { return hello_; }
  // The last announced topology; a value that does not exist while none was.
  tape::Value topology() const { return tape::Value{topology_}; }
  FeedTopic feed_topic(std::string_view scope) const;

 private:
  void reset(Hello hello);
  bytes::Buffer configured_;
  bytes::Buffer held_;
  bytes::Buffer topology_;
  Hello hello_ = Hello::unknown;
};

}  // namespace tidemark::agdx
