#include "agdx/change_columns.hpp"

#include <utility>

#include "agdx/change_record_fast.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {
namespace {

template <class T>
void permute_column(Column<T>& column, Column<T>& scratch, std::span<const std::uint32_t> order) {
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

// The bytes of a name already given out are known to be UTF-8: only new names are checked.
[[gnu::always_inline]] inline bool ChangeDecoder::name_id(std::string_view name, std::uint32_t& id,
                                                          std::uint32_t& last) {
  if (last != NameTable::none && equal(names_.at(last), name)) [[likely]] {
    id = last;
    return true;
  }
  return new_name_id(name, id, last);
}

bool ChangeDecoder::new_name_id(std::string_view name, std::uint32_t& id, std::uint32_t& last) {
  id = names_.find(name);
  if (id == NameTable::none) {
    if (!cbor::valid_utf8(bytes::as_bytes(name))) return false;
    id = names_.intern(name);
  }
  last = id;
  return true;
}

[[gnu::always_inline]] inline void ChangeDecoder::append(const FeedPayload& payload, ChangeColumns& columns,
                                                         SkipCounts& skipped) {
  fast::Change change;
  const auto at = columns.count;
  if (!fast::change(payload.data, payload.data + payload.length, change)) [[unlikely]] {
    append_slowly(payload, columns, skipped);
    return;
  }
  if (!index_.empty() && !equal(index_, change.index)) {
    const auto readable =
        cbor::valid_utf8(bytes::as_bytes(change.index)) && cbor::valid_utf8(bytes::as_bytes(change.stream));
    ++(readable ? skipped.other_index : skipped.malformed);
    return;
  }
  if (!name_id(change.index, columns.index[at], last_index_)) [[unlikely]] {
    ++skipped.malformed;
    return;
  }
  columns.stream[at] = NameTable::none;
  if (change.has_stream && !name_id(change.stream, columns.stream[at], last_stream_)) [[unlikely]] {
    ++skipped.malformed;
    return;
  }
  columns.feed_partition[at] = payload.feed_partition;
  columns.offset[at] = payload.offset;
  columns.timestamp[at] = payload.timestamp;
  columns.partition[at] = change.partition;
  columns.from[at] = change.from;
  columns.to[at] = change.to;
  columns.rows[at] = change.rows;
  columns.count = at + 1;
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
  new_name_id(record_.index, columns.index[at], last_index_);
  columns.stream[at] = NameTable::none;
  if (record_.has_stream) new_name_id(record_.stream, columns.stream[at], last_stream_);
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
  for (const auto& payload : payloads) append(payload, columns, skipped);
}

void ChangeDecoder::decode_run(std::span<const std::uint8_t> bytes, std::span<const std::uint32_t> starts,
                               ChangeColumns& columns, SkipCounts& skipped) {
  if (starts.size() < 2) return;
  columns.reserve(starts.size() - 1);
  FeedPayload payload;
  for (std::size_t index = 0; index + 1 < starts.size(); ++index) {
    if (starts[index] > starts[index + 1] || starts[index + 1] > bytes.size()) return;
    payload.data = bytes.data() + starts[index];
    payload.length = starts[index + 1] - starts[index];
    payload.offset = index;
    append(payload, columns, skipped);
  }
}

}  // namespace tidemark::agdx
