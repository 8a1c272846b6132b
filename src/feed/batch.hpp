#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agdx/change_columns.hpp"
#include "agdx/column.hpp"
#include "feed/position.hpp"

namespace tidemark::feed {

enum class Content : std::uint8_t { changes, records };

// Topic records as columns of `count` entries; payloads and header blocks lie in one block of bytes.
struct RecordColumns {
  std::size_t count = 0;
  agdx::Column<std::uint32_t> partition;
  agdx::Column<std::uint64_t> offset;
  agdx::Column<std::uint64_t> timestamp;
  agdx::Column<std::uint64_t> origin_timestamp;
  agdx::Column<std::uint8_t> id;  // 16 per record, as on the wire
  // payload i = bytes[payload_start[i], headers_start[i]), headers i = bytes[headers_start[i],
  // payload_start[i + 1]).
  agdx::Column<std::uint32_t> payload_start;  // count + 1
  agdx::Column<std::uint32_t> headers_start;  // count
  agdx::Column<std::uint8_t> bytes;
  std::uint32_t bytes_used() const { return count == 0 ? 0 : payload_start[count]; }

  void append(std::uint32_t partition_id, std::uint64_t record_offset, std::uint64_t timestamp_micros,
              std::uint64_t origin_timestamp_micros, std::span<const std::uint8_t, 16> record_id,
              std::span<const std::uint8_t> payload, std::span<const std::uint8_t> headers);
  void permute(std::span<const std::uint32_t> order, RecordColumns& scratch);
  void swap(RecordColumns& other) noexcept;
};

// One read of a topic. Valid until the next read of the same reader starts.
struct ReaderBatch {
  Content content = Content::changes;
  agdx::ChangeColumns changes;  // filled when content is changes
  RecordColumns records;        // filled when content is records
  // After this batch: the next offset to read of every partition.
  Positions positions;
  std::optional<SourceIdentity> identity;
  // Nothing more was there when the last replies were made.
  bool caught_up = false;
  // Counted since the reader was opened.
  agdx::SkipCounts skipped;
  // Lost history found while this batch was read; it comes before the records.
  std::vector<Gap> gaps;
  // Partitions that exist but are over the reader's cap.
  std::uint32_t unread_partitions = 0;

  std::size_t count() const { return content == Content::changes ? changes.count : records.count; }
};

}  // namespace tidemark::feed
