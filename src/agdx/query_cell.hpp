#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "agdx/type_kind.hpp"
#include "bytes/word.hpp"

// The shortest spelling of a cell, recognized by comparing words. Whatever does not look like it goes the
// general way (query_reply_cells.cpp), which means the same and says what is wrong. Only for use where
// `cell_margin` bytes can be read.
namespace tidemark::agdx::cell {

// The longest fixed part of a cell: a decimal with all its keys takes 70 bytes.
inline constexpr std::size_t margin = 96;
inline constexpr std::int64_t day_micros = 86'400'000'000;

using bytes::load;

[[gnu::always_inline]] inline std::uint16_t load16_be(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
[[gnu::always_inline]] inline std::uint32_t load32_be(const std::uint8_t* at) {
  return bytes::swapped(load<std::uint32_t>(at));
}
[[gnu::always_inline]] inline std::uint64_t load64_be(const std::uint8_t* at) {
  return bytes::swapped(load<std::uint64_t>(at));
}

// { "kind": NAME, "value":
template <TypeKind kind>
struct Prefix {
  static constexpr std::string_view name = kind_name(kind);
  static constexpr std::size_t size = 13 + name.size();

  static constexpr std::array<std::uint8_t, size> bytes = [] {
    std::array<std::uint8_t, size> out = {};
    std::size_t at = 0;
    const auto text = [&](std::string_view value) {
      out[at++] = static_cast<std::uint8_t>(0x60 + value.size());
      for (const auto byte : value) out[at++] = static_cast<std::uint8_t>(byte);
    };
    out[at++] = 0xA2;
    text("kind");
    text(name);
    text("value");
    return out;
  }();

  static constexpr std::uint64_t word(std::size_t from) {
    std::uint64_t value = 0;
    for (std::size_t index = 8; index-- > 0;) value = value << 8 | bytes[from + index];
    return value;
  }

  [[gnu::always_inline]] static bool match(const std::uint8_t* at) {
    std::uint64_t difference = load<std::uint64_t>(at) ^ word(0);
    if constexpr (size >= 16) difference |= load<std::uint64_t>(at + 8) ^ word(8);
    if constexpr (size >= 24) difference |= load<std::uint64_t>(at + 16) ^ word(16);
    if constexpr (size >= 32) difference |= load<std::uint64_t>(at + 24) ^ word(24);
    if constexpr (size % 8 != 0) difference |= load<std::uint64_t>(at + size - 8) ^ word(size - 8);
    return difference == 0;
  }
};

inline constexpr std::size_t null_size = 11;
// { "kind": "null" }
[[gnu::always_inline]] inline bool is_null(const std::uint8_t* at) {
  constexpr std::uint64_t first = 0x6E64'646E'696B'64A1;  // a1 64 "kind" 64 "n"
  constexpr std::uint64_t last = 0x6C6C'756E'6464'6E69;   // "ind" 64 "null"
  return ((load<std::uint64_t>(at) ^ first) | (load<std::uint64_t>(at + 3) ^ last)) == 0;
}

// An integer of at most 64 bits signed, taken; `at` stays where it is when there is none.
[[gnu::always_inline]] inline bool integer(const std::uint8_t*& at, std::int64_t& out) {
  const std::uint8_t initial = *at;
  if (initial >= 0x40) return false;
  const auto info = initial & 31;
  std::uint64_t argument = 0;
  std::size_t size = 1;
  if (info < 24) [[likely]] {
    argument = static_cast<std::uint64_t>(info);
  } else if (info == 24) {
    argument = at[1];
    size = 2;
  } else if (info == 25) {
    argument = load16_be(at + 1);
    size = 3;
  } else if (info == 26) {
    argument = load32_be(at + 1);
    size = 5;
  } else if (info == 27) {
    argument = load64_be(at + 1);
    size = 9;
  } else {
    return false;
  }
  if (argument > INT64_MAX) return false;
  at += size;
  out = static_cast<std::int64_t>(initial < 0x20 ? argument : ~argument);
  return true;
}

// A float of any width that a value may hold (finite, not -0.0), taken.
[[gnu::always_inline]] inline bool number(const std::uint8_t*& at, double& out) {
  const std::uint8_t initial = *at;
  std::uint64_t bits = 0;
  std::size_t size = 0;
  if (initial == 0xFB) {
    bits = load64_be(at + 1);
    size = 9;
  } else if (initial == 0xFA) {
    bits = std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(load32_be(at + 1))));
    size = 5;
  } else if (initial == 0xF9) {
    const std::uint64_t half = load16_be(at + 1);
    const auto exponent = half >> 10 & 31;
    size = 3;
    if (exponent == 0) {
      // Zero is common, subnormal halves are not worth a path of their own.
      if (half != 0) return false;
    } else {
      if (exponent == 31) return false;
      bits = half >> 15 << 63 | (exponent + 1008) << 52 | (half & 1023) << 42;
    }
  } else {
    return false;
  }
  if ((bits >> 52 & 0x7FF) == 0x7FF || bits == 0x8000'0000'0000'0000) return false;
  at += size;
  out = std::bit_cast<double>(bits);
  return true;
}

// The head of a string of kind `major` (0x40 bytes, 0x60 text) below 2^32 bytes, taken.
template <std::uint8_t major>
[[gnu::always_inline]] inline bool string_head(const std::uint8_t*& at, std::uint32_t& length) {
  const std::uint8_t initial = *at;
  if ((initial & 0xE0) != major) return false;
  const auto info = initial & 31;
  if (info < 24) [[likely]] {
    length = static_cast<std::uint32_t>(info);
    at += 1;
  } else if (info == 24) {
    length = at[1];
    at += 2;
  } else if (info == 25) {
    length = load16_be(at + 1);
    at += 3;
  } else if (info == 26) {
    length = load32_be(at + 1);
    at += 5;
  } else {
    return false;
  }
  return true;
}

}  // namespace tidemark::agdx::cell
