#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "agdx/change_record.hpp"
#include "agdx/column.hpp"
#include "agdx/name_table.hpp"

namespace tidemark::agdx {

// Change records as columns of `count` entries. `index` and `stream` are numbers of a NameTable, `stream` is
// NameTable::none where the record names none.
struct ChangeColumns {
  std::size_t count = 0;
  Column<std::uint32_t> feed_partition;
  Column<std::uint64_t> offset;
  Column<std::uint64_t> timestamp;
  Column<std::uint32_t> partition;
  Column<std::uint64_t> from;
  Column<std::uint64_t> to;
  Column<std::uint32_t> rows;
  Column<std::uint32_t> index;
  Column<std::uint32_t> stream;

  std::size_t capacity() const { return stream.capacity(); }
  // Room for `more` further entries.
  void reserve(std::size_t more);
  // Puts entry order[i] at place i.
  void permute(std::span<const std::uint32_t> order, ChangeColumns& scratch);
};

struct SkipCounts {
  std::uint32_t malformed = 0;
  std::uint32_t version = 0;
  std::uint32_t other_index = 0;
};

// Where a payload lies in the feed, and its bytes.
struct FeedPayload {
  std::uint32_t feed_partition = 0;
  std::uint32_t length = 0;
  std::uint64_t offset = 0;
  std::uint64_t timestamp = 0;
  const std::uint8_t* data = nullptr;
};

// Appends decoded payloads to columns and counts what a reader skips: undecodable, of another version, of
// another index than the one asked for.
class ChangeDecoder {
 public:
  explicit ChangeDecoder(NameTable& names) : names_(names) {
    std::fill(std::begin(seen_), std::end(seen_), NameTable::none);
  }

  // Deliver only changes of this index; empty delivers all.
  void only_index(std::string index) { index_ = std::move(index); }

  void decode(std::span<const FeedPayload> payloads, ChangeColumns& columns, SkipCounts& skipped);
  // Payload i is bytes[starts[i], starts[i + 1]), of feed partition 0 and offset i. Ends at a start that is
  // out of order.
  void decode_run(std::span<const std::uint8_t> bytes, std::span<const std::uint32_t> starts,
                  ChangeColumns& columns, SkipCounts& skipped);

 private:
  static constexpr std::uint32_t seen_bits = 6;
  struct Room;

  std::size_t append(const FeedPayload& payload, const Room& room, std::size_t at, ChangeColumns& columns,
                     SkipCounts& skipped);
  void append_slowly(const FeedPayload& payload, ChangeColumns& columns, SkipCounts& skipped);
  bool name_id(std::string_view name, std::uint32_t& id);
  bool new_name_id(std::string_view name, std::uint32_t& id, std::uint32_t& seen);

  NameTable& names_;
  std::string index_;
  std::uint32_t seen_[1U << seen_bits];  // numbers of names by a hash of their ending, `none` where none was
  ChangeRecord record_;
};

}  // namespace tidemark::agdx
