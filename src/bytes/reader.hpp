#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "bytes/error.hpp"

namespace tidemark::bytes {

static_assert(std::endian::native == std::endian::little,
              "the wire and every supported target are little-endian");

// A bounds-checked cursor over input. The first failure sticks: every later read is a harmless zero, so that
// decoding code reads like the data it decodes and checks once, at the end.
class Reader {
 public:
  Reader() = default;
  explicit Reader(std::span<const std::uint8_t> input) : input_(input) {}

  bool ok() const { return error_.rule == Rule::none; }
  const Error& error() const { return error_; }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return input_.size() - position_; }
  bool at_end() const { return remaining() == 0; }

  void fail(Rule rule) { fail(rule, position_); }
  void fail(Rule rule, std::size_t position) {
    if (!ok()) return;
    error_.rule = rule;
    error_.position = static_cast<std::uint32_t>(position);
    position_ = input_.size();
  }

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }

  std::span<const std::uint8_t> take(std::size_t length) {
    if (length > remaining()) {
      fail(Rule::truncated);
      return {};
    }
    const auto taken = input_.subspan(position_, length);
    position_ += length;
    return taken;
  }
  std::span<const std::uint8_t> rest() { return take(remaining()); }
  std::string_view text(std::size_t length) {
    const auto taken = take(length);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  void skip(std::size_t length) { take(length); }
  void expect_end() {
    if (ok() && !at_end()) fail(Rule::trailing_bytes);
  }

 private:
  template <class T>
  T number() {
    T value = 0;
    if (sizeof(T) > remaining()) {
      fail(Rule::truncated);
      return 0;
    }
    std::memcpy(&value, input_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  std::span<const std::uint8_t> input_;
  std::size_t position_ = 0;
  Error error_;
};

}  // namespace tidemark::bytes
