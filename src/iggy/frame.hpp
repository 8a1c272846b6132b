#pragma once

#include <cstdint>
#include <span>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

namespace tidemark::iggy {

inline constexpr std::size_t kHeaderSize = 256;

enum class FrameKind : std::uint8_t { request = 5, reply = 8, eviction = 13 };

// The first 128 bytes of every frame. Clients send zeros but for `size` and `command`.
struct CommonHeader {
  tape::U128 checksum;
  tape::U128 checksum_body;
  tape::U128 cluster;
  std::uint32_t size = 0;  // header included
  std::uint32_t view = 0;
  std::uint32_t release = 0;
  std::uint8_t command = 0;
  std::uint8_t replica = 0;
};

struct RequestHeader {
  CommonHeader common;
  tape::U128 client;
  tape::U128 request_checksum;
  std::uint64_t timestamp = 0;
  std::uint64_t request = 0;
  std::uint8_t operation = 0;
  std::uint64_t session = 0;
  std::uint32_t user_id = 0;
  std::uint32_t command_code = 0;  // only with operation 2
  // V12; zero elsewhere.
  std::uint64_t partition_incarnation = 0;
  std::uint64_t owner_generation = 0;
  std::uint64_t minimum_metadata_op = 0;
};

struct ReplyHeader {
  CommonHeader common;
  tape::U128 request_checksum;
  tape::U128 context;
  tape::U128 client;  // often not the requester's own: match by `request`
  std::uint64_t op = 0;
  std::uint64_t commit = 0;
  std::uint64_t timestamp = 0;
  std::uint64_t request = 0;
  std::uint8_t operation = 0;
  std::uint32_t status = 0;
  // V12; zero elsewhere.
  std::uint8_t committed_marker = 0;
  std::uint64_t partition_incarnation = 0;
};

struct EvictionHeader {
  CommonHeader common;
  tape::U128 client;
  std::uint32_t server_version = 0;  // the accepted window, only with reason 14
  std::uint32_t server_version_min = 0;
  std::uint8_t reason = 0;
};

// One whole frame, checked: `size` equals the length and the command byte is one that exists. Reading never
// goes past the bytes it was made from.
class Frame {
 public:
  // Errors: truncated (shorter than a header), frame_size (size field and length differ), frame_too_large,
  // frame_command (not a request, reply or eviction).
  static Error parse(std::span<const std::uint8_t> bytes, std::size_t max_size, Frame& out);

  FrameKind kind() const { return static_cast<FrameKind>(bytes_[60]); }
  std::span<const std::uint8_t> body() const { return bytes_.subspan(kHeaderSize); }

  // Each is meaningful for the frame's own kind only.
  RequestHeader request() const;
  ReplyHeader reply() const;
  EvictionHeader eviction() const;

 private:
  std::span<const std::uint8_t> bytes_;
};

// Writes the header over the first 256 bytes of `frame`; `common.size` and `common.command` are set from the
// frame.
void write_request_header(const RequestHeader& header, std::span<std::uint8_t> frame);

}  // namespace tidemark::iggy
