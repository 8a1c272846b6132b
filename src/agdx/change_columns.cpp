#include "agdx/change_columns.hpp"

#include <utility>

#include "agdx/change_record_fast.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {
namespace {

template <class T>
[[gnu::noinline]] void permute_column(Column<T>& column, Column<T>& scratch,
                                      std::span<const std::uint32_t> order) {
  scratch.reserve(order.size(), 0);
  for (std::size_t index = 0; index < order.size(); ++index) scratch[index] = column[order[index]];
  column.swap(scratch);
}

[[gnu::always_inline]] inline bool equal(std::string_view left, std::string_view right) {
  return left.size() == right.size() && fast::same(left.data(), right.data(), left.size());
}

}  // namespace

void ChangeColumns::reserve(std::size_t more) {
  const auto wanted = count + more;
  if (wanted <= capacity()) return;
  const auto room = wanted < capacity() * 2 ? capacity() * 2 : wanted;
  feed_partition.reserve(room, count);
  offset.reserve(room, count);
  timestamp.reserve(room, count);
  partition.reserve(room, count);
  from.reserve(room, count);
  to.reserve(room, count);
  rows.reserve(room, count);
  index.reserve(room, count);
  stream.reserve(room, count);
}

void ChangeColumns::permute(std::span<const std::uint32_t> order, ChangeColumns& scratch) {
  permute_column(feed_partition, scratch.feed_partition, order);
  permute_column(offset, scratch.offset, order);
  permute_column(timestamp, scratch.timestamp, order);
  permute_column(partition, scratch.partition, order);
  permute_column(from, scratch.from, order);
  permute_column(to, scratch.to, order);
  permute_column(rows, scratch.rows, order);
  permute_column(index, scratch.index, order);
  permute_column(stream, scratch.stream, order);
  count = order.size();
}

// Room of a batch, as pointers that the loop can keep.
struct ChangeDecoder::Room {
  explicit Room(ChangeColumns& columns)
      : feed_partition(columns.feed_partition.data()),
        offset(columns.offset.data()),
        timestamp(columns.timestamp.data()),
        partition(columns.partition.data()),
        from(columns.from.data()),
        to(columns.to.data()),
        rows(columns.rows.data()),
        index(columns.index.data()),
        stream(columns.stream.data()) {}

  std::uint32_t* const feed_partition;
  std::uint64_t* const offset;
  std::uint64_t* const timestamp;
  std::uint32_t* const partition;
  std::uint64_t* const from;
  std::uint64_t* const to;
  std::uint32_t* const rows;
  std::uint32_t* const index;
  std::uint32_t* const stream;
};

// The bytes of a name already given out are known to be UTF-8: only new names are checked. A feed has few
// names, in any order, so each has a place by its last bytes where it was last seen.
[[gnu::always_inline]] inline bool ChangeDecoder::name_id(std::string_view name, std::uint32_t& id) {
  // Eight bytes before the end of a name lie in its payload, behind at least a key.
  const auto ending = bytes::load<std::uint64_t>(name.data() + name.size() - 8);
  auto& seen = seen_[(ending ^ name.size()) * 0x9E37'79B9'7F4A'7C15U >> (64 - seen_bits)];
  if (seen != NameTable::none && equal(names_.at(seen), name)) [[likely]] {
    id = seen;
    return true;
  }
  return new_name_id(name, id, seen);
}

[[gnu::noinline]] bool ChangeDecoder::new_name_id(std::string_view name, std::uint32_t& id,
                                                  std::uint32_t& seen) {
  id = names_.find(name);
  if (id == NameTable::none) {
    if (!cbor::valid_utf8(bytes::as_bytes(name))) return false;
    id = names_.intern(name);
  }
  seen = id;
  return true;
}

// Appends at `at` and gives the next place.
[[gnu::always_inline]] inline std::size_t ChangeDecoder::append(const FeedPayload& payload, const Room& room,
                                                                std::size_t at, ChangeColumns& columns,
                                                                SkipCounts& skipped) {
  fast::Change change;
  if (!fast::change(payload.data, payload.data + payload.length, change)) [[unlikely]] {
    columns.count = at;
    append_slowly(payload, columns, skipped);
    return columns.count;
  }
  if (!index_.empty() && !equal(index_, change.index)) {
    const auto readable =
        cbor::valid_utf8(bytes::as_bytes(change.index)) && cbor::valid_utf8(bytes::as_bytes(change.stream));
    ++(readable ? skipped.other_index : skipped.malformed);
    return at;
  }
  std::uint32_t index = 0;
  std::uint32_t stream = NameTable::none;
  if (!name_id(change.index, index) || (change.has_stream && !name_id(change.stream, stream))) [[unlikely]] {
    ++skipped.malformed;
    return at;
  }
  room.index[at] = index;
  room.stream[at] = stream;
  room.feed_partition[at] = payload.feed_partition;
  room.offset[at] = payload.offset;
  room.timestamp[at] = payload.timestamp;
  room.partition[at] = change.partition;
  room.from[at] = change.from;
  room.to[at] = change.to;
  room.rows[at] = change.rows;
  return at + 1;
}

[[gnu::noinline]] void ChangeDecoder::append_slowly(const FeedPayload& payload, ChangeColumns& columns,
                                                    SkipCounts& skipped) {
  Error error;
  if (!decode_change_record({payload.data, payload.length}, record_, error)) {
    ++skipped.malformed;
    return;
  }
  if (record_.v != change_record_version) {
    ++skipped.version;
    return;
  }
  if (!index_.empty() && record_.index != index_) {
    ++skipped.other_index;
    return;
  }
  const auto at = columns.count;
  columns.index[at] = names_.intern(record_.index);
  columns.stream[at] = record_.has_stream ? names_.intern(record_.stream) : NameTable::none;
  columns.feed_partition[at] = payload.feed_partition;
  columns.offset[at] = payload.offset;
  columns.timestamp[at] = payload.timestamp;
  columns.partition[at] = record_.partition_id;
  columns.from[at] = record_.from_offset;
  columns.to[at] = record_.to_offset;
  columns.rows[at] = record_.rows;
  columns.count = at + 1;
}

void ChangeDecoder::decode(std::span<const FeedPayload> payloads, ChangeColumns& columns,
                           SkipCounts& skipped) {
  columns.reserve(payloads.size());
  const Room room(columns);
  auto at = columns.count;
  for (const auto& payload : payloads) at = append(payload, room, at, columns, skipped);
  columns.count = at;
}

void ChangeDecoder::decode_run(std::span<const std::uint8_t> bytes, std::span<const std::uint32_t> starts,
                               ChangeColumns& columns, SkipCounts& skipped) {
  if (starts.size() < 2) return;
  columns.reserve(starts.size() - 1);
  const Room room(columns);
  auto at = columns.count;
  FeedPayload payload;
  for (std::size_t index = 0; index + 1 < starts.size(); ++index) {
    if (starts[index] > starts[index + 1] || starts[index + 1] > bytes.size()) break;
    payload.data = bytes.data() + starts[index];
    payload.length = starts[index + 1] - starts[index];
    payload.offset = index;
    at = append(payload, room, at, columns, skipped);
  }
  columns.count = at;
}

}  // namespace tidemark::agdx
