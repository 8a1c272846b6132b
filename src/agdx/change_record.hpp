#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bytes/error.hpp"

namespace tidemark::agdx {

inline constexpr std::uint32_t change_record_version = 1;

// "A batch of source records was materialized into `index`": a hint to query again, not data.
// The names point into the payload, or into this object where they came in chunks.
struct ChangeRecord {
  std::uint32_t v = 0;
  std::string_view index;
  std::uint32_t partition_id = 0;  // of the source topic, not of the feed
  std::uint64_t from_offset = 0;
  std::uint64_t to_offset = 0;  // inclusive
  std::uint32_t rows = 0;
  std::string_view stream;
  bool has_stream = false;

  std::string owned_index;
  std::string owned_stream;
};

// Reads one payload. Any version decodes; telling versions apart is the reader's part.
bool decode_change_record(std::span<const std::uint8_t> payload, ChangeRecord& record, Error& error);

}  // namespace tidemark::agdx
