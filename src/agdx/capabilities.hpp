#pragma once

#include <span>
#include <string_view>

#include "agdx/announce_form.hpp"
#include "agdx/topology.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

// What the server is known to serve, section 6.2 of the contract.
namespace tidemark::agdx {

// Section 6.4 and 6.5, on a capability set.
bool is_enabled(tape::Value backend);
bool is_unready(tape::Value backend);
// At least one is enabled, and every enabled one is ready.
bool all_ready(tape::Value backends);
bool is_ready(tape::Value capabilities);
std::uint32_t unready_backends(tape::Value capabilities);
// eventual < read_your_writes < strong.
bool serves_consistency(tape::Value capabilities, std::string_view level);

// The set a connection holds, moved on by probes.
class Capabilities {
 public:
  // `configured` is a capability set (or a part of one) as a tape; empty: everything off.
  explicit Capabilities(std::span<const std::uint8_t> configured = {},
                        const AnnounceForm& form = whole_announce);

  const AnnounceForm& form() const { return form_; }

  void answered(tape::Value announce);
  void rejected() { reset(Hello::rejected); }
  void failed() { reset(Hello::failed); }

  tape::Value value() const { return tape::Value{held_}; }
  Hello hello() const { return hello_; }
  // Of the last announce: there were backends; at least one is enabled, and every enabled one is ready.
  bool has_backends() const { return has_backends_; }
  bool backends_ready() const { return backends_ready_; }
  // The last announced topology; a value that does not exist while none was.
  tape::Value topology() const { return tape::Value{topology_}; }
  FeedTopic feed_topic(std::string_view scope) const;

 private:
  void reset(Hello hello);
  void hold(tape::Value announce);
  const AnnounceForm& form_;
  bytes::Buffer configured_;
  bytes::Buffer held_;
  bytes::Buffer topology_;
  Hello hello_ = Hello::unknown;
  bool has_backends_ = false;
  bool backends_ready_ = false;
};

}  // namespace tidemark::agdx
