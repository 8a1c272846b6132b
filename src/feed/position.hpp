#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tidemark::feed {

// The next offset to read of one partition. It saturates at 2^64-1; `exhausted` tells the state after that
// record from the state before it.
struct Position {
  std::uint32_t partition = 0;
  std::uint64_t next = 0;
  bool exhausted = false;
  friend bool operator==(const Position&, const Position&) = default;
};
using Positions = std::vector<Position>;  // ascending by partition
void ascending(Positions& positions);

// What tells a recreated topic from a quiet one: equal ids and creation times are the same source.
struct SourceIdentity {
  struct Partition {
    std::uint32_t id = 0;
    std::uint64_t created_at_micros = 0;
    friend bool operator==(const Partition&, const Partition&) = default;
  };
  std::uint32_t stream_id = 0;
  std::uint64_t stream_created_at_micros = 0;
  std::uint32_t topic_id = 0;
  std::uint64_t topic_created_at_micros = 0;
  std::vector<Partition> partitions;
  friend bool operator==(const SourceIdentity&, const SourceIdentity&) = default;

  bool same_topic(const SourceIdentity& other) const {
    return stream_id == other.stream_id && stream_created_at_micros == other.stream_created_at_micros &&
           topic_id == other.topic_id && topic_created_at_micros == other.topic_created_at_micros;
  }
};

enum class GapReason : std::uint8_t {
  trimmed,            // the first record there is above the one asked for
  missing_inside,     // an offset is missing between two records
  trimmed_whole,      // nothing is left of what was asked for, nor after it
  rewound,            // the log ends before what was already read: purged or restored
  recreated,          // another topic or partition under the same name
  partition_removed,  // the partition is gone
};

struct Gap {
  std::uint32_t partition = 0;
  std::uint64_t asked = 0;
  std::optional<std::uint64_t> first_available;
  GapReason reason = GapReason::trimmed;
  friend bool operator==(const Gap&, const Gap&) = default;
};

}  // namespace tidemark::feed
