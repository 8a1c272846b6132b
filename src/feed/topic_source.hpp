#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytes/error.hpp"
#include "bytes/writer.hpp"
#include "iggy/primitives.hpp"
#include "iggy/protocol_version.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

struct TopicPartition {
  std::uint32_t id = 0;
  std::uint64_t created_at_micros = 0;
  std::uint64_t current_offset = 0;  // of the last record; 0 when empty too
  std::uint64_t messages_count = 0;
  PartitionContext context;

  // The offset that the next record will get, as far as the record tells.
  std::uint64_t end() const {
    if (messages_count == 0 && current_offset == 0) return 0;
    return current_offset == UINT64_MAX ? current_offset : current_offset + 1;
  }
};
struct TopicState {
  std::uint32_t id = 0;
  std::uint64_t created_at_micros = 0;
  std::vector<TopicPartition> partitions;  // ascending by id
};
struct StreamState {
  std::uint32_t id = 0;
  std::uint64_t created_at_micros = 0;
};

// The requests that a reader of one topic makes, all of them reads that store nothing on the server.
class TopicSource {
 public:
  TopicSource(std::string stream, std::string topic) : stream_(std::move(stream)), topic_(std::move(topic)) {}

  Request get_stream(std::uint32_t tag) const;
  Request get_topic(std::uint32_t tag) const;
  Request poll(std::uint32_t tag, std::uint32_t partition, const PartitionContext& context,
               iggy::StrategyKind strategy, std::uint64_t value, std::uint32_t count) const;

  struct Target {
    std::uint32_t partition = 0;
    std::uint64_t next = 0;
    PartitionContext context;
  };
  // Of one target or more, answered as soon as one of them has a record, or when kDeferred is over. Servers
  // of 0.12.2 alone.
  Request wait(std::uint32_t tag, std::span<const Target> targets, std::uint32_t count,
               std::uint32_t byte_cap) const;

  // The reply's content; nothing when there is no such stream or topic. False with `error` when it does not
  // decode.
  static bool read_stream(const Reply& reply, iggy::Dialect dialect, std::optional<StreamState>& out,
                          Error& error);
  static bool read_topic(const Reply& reply, iggy::Dialect dialect, std::optional<TopicState>& out,
                         Error& error);
  // Refusals that mean: stream, topic or partition is not there (any more).
  static bool means_gone(const Reply& reply);
  // Refused since the partition has another life than the one that was meant: the topic record names it.
  static bool is_stale(const Reply& reply) { return reply.outcome == Outcome::refused && reply.code == 87; }

 private:
  std::string stream_;
  std::string topic_;
};

}  // namespace tidemark::feed
