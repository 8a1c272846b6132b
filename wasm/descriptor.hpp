#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "border.hpp"
#include "bytes/writer.hpp"

namespace tidemark::wasm {

// The words that a method leaves for JavaScript beside the number it returns. What they point at is good
// until the next call into the module: JavaScript copies it out at once (js/core/columns.ts knows the
// layouts).
//   a tape    address, length
//   a frame   generation, address, length
//   a batch   reader, entries, tape address, tape length, size of the name table, then addresses of columns:
//     changes feed partition, offset, timestamp, partition, from, to, rows, index, stream
//     records partition, offset, timestamp, origin timestamp, id, payload starts, header starts, bytes; byte
//     count
class Descriptor {
 public:
  std::uint32_t where() const { return address(words_.data()); }

  void put(std::uint32_t value) { words_[used_++] = value; }
  void put(const void* pointer) { put(address(pointer)); }
  void put(std::span<const std::uint8_t> bytes) {
    put(bytes.data());
    put(static_cast<std::uint32_t>(bytes.size()));
  }
  Descriptor& reset() {
    used_ = 0;
    return *this;
  }

 private:
  std::array<std::uint32_t, 16> words_{};
  std::size_t used_ = 0;
};

// Room that JavaScript writes arguments and frames into before a call. Kept from call to call, given back
// when one was unusually large. Behind the input lie zeros that fast decoding may read.
class Input {
 public:
  static constexpr std::size_t padding = 64;
  // 0 when it may never be that long.
  std::uint32_t room(std::uint32_t length, std::size_t most) {
    if (length > most) return 0;
    if (bytes_.size() > kept && length <= kept) bytes_ = bytes::Buffer();
    if (bytes_.size() < length + padding) bytes_ = bytes::Buffer(length + padding);
    std::memset(bytes_.data() + length, 0, padding);
    return address(bytes_.data());
  }
  std::span<const std::uint8_t> first(std::uint32_t length) const {
    return length + padding <= bytes_.size() ? std::span(bytes_).first(length)
                                             : std::span<const std::uint8_t>{};
  }
  void wipe() { std::fill(bytes_.begin(), bytes_.end(), std::uint8_t{0}); }

 private:
  static constexpr std::size_t kept = 1024 * 1024;
  bytes::Buffer bytes_;
};

}  // namespace tidemark::wasm
