#include "feed/batch.hpp"

#include <algorithm>

namespace tidemark::feed {
namespace {

template <class T>
void put(agdx::Column<T>& column, std::size_t at, T value) {
  if (at >= column.capacity()) column.reserve(std::max<std::size_t>(256, at * 2), at);
  column[at] = value;
}

void put_bytes(agdx::Column<std::uint8_t>& column, std::size_t at, std::span<const std::uint8_t> value) {
  if (value.empty()) return;
  if (at + value.size() > column.capacity())
    column.reserve(std::max<std::size_t>(at + value.size(), column.capacity() * 2), at);
  std::memcpy(column.data() + at, value.data(), value.size());
}

}  // namespace

void RecordColumns::append(std::uint32_t partition_id, std::uint64_t record_offset,
                           std::uint64_t timestamp_micros, std::uint64_t origin_timestamp_micros,
                           std::span<const std::uint8_t, 16> record_id, std::span<const std::uint8_t> payload,
                           std::span<const std::uint8_t> headers) {
  const auto at = count;
  const auto start = bytes_used();
  put(partition, at, partition_id);
  put(offset, at, record_offset);
  put(timestamp, at, timestamp_micros);
  put(origin_timestamp, at, origin_timestamp_micros);
  put_bytes(id, at * 16, record_id);
  put_bytes(bytes, start, payload);
  put_bytes(bytes, start + payload.size(), headers);
  put(payload_start, at, start);
  put(headers_start, at, static_cast<std::uint32_t>(start + payload.size()));
  put(payload_start, at + 1, static_cast<std::uint32_t>(start + payload.size() + headers.size()));
  count = at + 1;
}

void RecordColumns::permute(std::span<const std::uint32_t> order, RecordColumns& scratch) {
  scratch.count = 0;
  for (const auto from : order) {
    const auto* block = bytes.data();
    scratch.append(partition[from], offset[from], timestamp[from], origin_timestamp[from],
                   std::span<const std::uint8_t, 16>(id.data() + std::size_t{from} * 16, 16),
                   {block + payload_start[from], block + headers_start[from]},
                   {block + headers_start[from], block + payload_start[from + 1]});
  }
  swap(scratch);
}

void RecordColumns::swap(RecordColumns& other) noexcept {
  std::swap(count, other.count);
  partition.swap(other.partition);
  offset.swap(other.offset);
  timestamp.swap(other.timestamp);
  origin_timestamp.swap(other.origin_timestamp);
  id.swap(other.id);
  payload_start.swap(other.payload_start);
  headers_start.swap(other.headers_start);
  bytes.swap(other.bytes);
}

}  // namespace tidemark::feed
