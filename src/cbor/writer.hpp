#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

namespace tidemark::cbor {

// Appends canonical items: shortest heads, shortest lossless floats, definite lengths. The caller keeps the
// promise that a map of n entries is followed by n keys and values.
class Writer {
 public:
  explicit Writer(bytes::Buffer& out) : out_(out) {}

  void null() { out_.push_back(0xF6); }
  void boolean(bool value) { out_.push_back(value ? 0xF5 : 0xF4); }
  void u64(std::uint64_t value) { head(0, value); }
  void i64(std::int64_t value) {
    if (value >= 0)
      head(0, static_cast<std::uint64_t>(value));
    else
      head(1, static_cast<std::uint64_t>(-1 - value));
  }
  // A plain integer while it fits 64 bits, else a bignum without leading zeros.
  void u128(tape::U128 value);
  void f32(float value);
  void f64(double value);
  void text(std::string_view value) {
    head(3, value.size());
    append(bytes::as_bytes(value));
  }
  void bytes(std::span<const std::uint8_t> value) {
    head(2, value.size());
    append(value);
  }
  void array(std::uint64_t count) { head(4, count); }
  void map(std::uint64_t count) { head(5, count); }

 private:
  void head(unsigned major, std::uint64_t argument);
  void big_endian(std::uint64_t value, unsigned width);
  void append(std::span<const std::uint8_t> value) { out_.insert(out_.end(), value.begin(), value.end()); }
  bytes::Buffer& out_;
};

}  // namespace tidemark::cbor
