#include "iggy/frame.hpp"

#include <algorithm>
#include <cstring>

namespace tidemark::iggy {

namespace {

// Frames are never shorter than a header by the time these run.
template <class T>
T load(std::span<const std::uint8_t> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

tape::U128 load_u128(std::span<const std::uint8_t> bytes, std::size_t at) {
  return {load<std::uint64_t>(bytes, at), load<std::uint64_t>(bytes, at + 8)};
}

template <class T>
void store(std::span<std::uint8_t> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

CommonHeader common(std::span<const std::uint8_t> bytes) {
  return {load_u128(bytes, 0),
          load_u128(bytes, 16),
          load_u128(bytes, 32),
          load<std::uint32_t>(bytes, 48),
          load<std::uint32_t>(bytes, 52),
          load<std::uint32_t>(bytes, 56),
          bytes[60],
          bytes[61]};
}

}  // namespace

Error Frame::parse(std::span<const std::uint8_t> bytes, std::size_t max_size, Frame& out) {
  Error error;
  if (bytes.size() < kHeaderSize) {
    error.rule = Rule::truncated;
    error.position = static_cast<std::uint32_t>(bytes.size());
    return error;
  }
  error.position = 48;
  const auto kind = static_cast<FrameKind>(bytes[60]);
  if (bytes.size() > max_size) {
    error.rule = Rule::frame_too_large;
  } else if (load<std::uint32_t>(bytes, 48) != bytes.size()) {
    error.rule = Rule::frame_size;
  } else if (kind != FrameKind::request && kind != FrameKind::reply && kind != FrameKind::eviction) {
    error.rule = Rule::frame_command;
    error.position = 60;
  } else if (kind == FrameKind::eviction && bytes.size() != kHeaderSize) {
    error.rule = Rule::frame_size;  // evictions never have a body
  } else {
    out.bytes_ = bytes;
    error.position = 0;
  }
  return error;
}

RequestHeader Frame::request() const {
  RequestHeader header;
  header.common = common(bytes_);
  header.client = load_u128(bytes_, 128);
  header.request_checksum = load_u128(bytes_, 144);
  header.timestamp = load<std::uint64_t>(bytes_, 160);
  header.request = load<std::uint64_t>(bytes_, 168);
  header.operation = bytes_[176];
  header.session = load<std::uint64_t>(bytes_, 184);
  header.user_id = load<std::uint32_t>(bytes_, 192);
  header.command_code = load<std::uint32_t>(bytes_, 196);
  header.partition_incarnation = load<std::uint64_t>(bytes_, 200);
  header.owner_generation = load<std::uint64_t>(bytes_, 208);
  header.minimum_metadata_op = load<std::uint64_t>(bytes_, 216);
  return header;
}

ReplyHeader Frame::reply() const {
  ReplyHeader header;
  header.common = common(bytes_);
  header.request_checksum = load_u128(bytes_, 128);
  header.context = load_u128(bytes_, 144);
  header.client = load_u128(bytes_, 160);
  header.op = load<std::uint64_t>(bytes_, 176);
  header.commit = load<std::uint64_t>(bytes_, 184);
  header.timestamp = load<std::uint64_t>(bytes_, 192);
  header.request = load<std::uint64_t>(bytes_, 200);
  header.operation = bytes_[208];
  header.status = load<std::uint32_t>(bytes_, 216);
  header.committed_marker = bytes_[220];
  header.partition_incarnation = load<std::uint64_t>(bytes_, 224);
  return header;
}

EvictionHeader Frame::eviction() const {
  return {common(bytes_), load_u128(bytes_, 128), load<std::uint32_t>(bytes_, 144),
          load<std::uint32_t>(bytes_, 148), bytes_[255]};
}

void write_request_header(const RequestHeader& header, std::span<std::uint8_t> frame) {
  std::fill_n(frame.begin(), kHeaderSize, std::uint8_t{0});
  store(frame, 48, static_cast<std::uint32_t>(frame.size()));
  frame[60] = static_cast<std::uint8_t>(FrameKind::request);
  store(frame, 128, header.client);
  store(frame, 144, header.request_checksum);
  store(frame, 160, header.timestamp);
  store(frame, 168, header.request);
  frame[176] = header.operation;
  store(frame, 184, header.session);
  store(frame, 192, header.user_id);
  store(frame, 196, header.command_code);
  store(frame, 200, header.partition_incarnation);
  store(frame, 208, header.owner_generation);
  store(frame, 216, header.minimum_metadata_op);
}

}  // namespace tidemark::iggy
