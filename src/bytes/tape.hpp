#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "bytes/writer.hpp"

// The form in which cold values (admin calls, hello, control, small replies) cross the wasm border, both
// ways: a run of 32-bit words that JavaScript reads and writes with one pass and no knowledge of any wire
// format. It is an internal ABI between src/, wasm/ and js/core, never stored and never sent.
//
//   word 0 of a value = tag;  then
//   null, false, true   nothing
//   u32, i32            1 word                        -> number
//   f32                 1 word (bits)                 -> number
//   u64, i64            2 words, low first            -> bigint
//   f64                 2 words, low first            -> number
//   u128                4 words, low first            -> bigint
//   text, bytes         byte length, then the bytes padded with zeros to a whole word
//   array               item count, then the items
//   map                 entry count, then per entry a text value (the key) and a value
//
// From JavaScript every number arrives as f64 and every bigint as u64, i64 or u128; the reader of a field
// converts to what the field is and refuses what does not fit.
namespace tidemark::tape {

enum class Tag : std::uint32_t {
  null = 0,
  no = 1,
  yes = 2,
  u32 = 3,
  i32 = 4,
  f32 = 5,
  u64 = 6,
  i64 = 7,
  f64 = 8,
  u128 = 9,
  text = 10,
  bytes = 11,
  array = 12,
  map = 13,
};

struct U128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const U128&, const U128&) = default;
};

class Writer {
 public:
  explicit Writer(bytes::Buffer& out) : out_(out) {}

  void null() { tag(Tag::null); }
  void boolean(bool value) { tag(value ? Tag::yes : Tag::no); }
  void u32(std::uint32_t value) { word(Tag::u32, value); }
  void i32(std::int32_t value) { word(Tag::i32, static_cast<std::uint32_t>(value)); }
  void u64(std::uint64_t value) { pair(Tag::u64, value); }
  void i64(std::int64_t value) { pair(Tag::i64, static_cast<std::uint64_t>(value)); }
  void f32(float value) { word(Tag::f32, std::bit_cast<std::uint32_t>(value)); }
  void f64(double value) { pair(Tag::f64, std::bit_cast<std::uint64_t>(value)); }
  void u128(U128 value) { pair(Tag::u128, value.low), out_.u64(value.high); }
  void text(std::string_view value) { block(Tag::text, bytes::as_bytes(value)); }
  void bytes(std::span<const std::uint8_t> value) { block(Tag::bytes, value); }
  void key(std::string_view name) { text(name); }
  // A whole value of another tape, as it is.
  void copy(std::span<const std::uint8_t> value) { out_.bytes(value); }

  // Containers whose size is not known yet: keep the returned mark and hand it to close() with the count.
  std::size_t open(Tag container) {
    word(container, 0);
    return out_.size() - 4;
  }
  void close(std::size_t mark, std::uint32_t count) { out_.patch_u32(mark, count); }

 private:
  void tag(Tag value) { out_.u32(static_cast<std::uint32_t>(value)); }
  void word(Tag kind, std::uint32_t value);
  void pair(Tag kind, std::uint64_t value);
  void block(Tag kind, std::span<const std::uint8_t> value);

  bytes::Writer out_;
};

// One value on a tape. Cheap to copy; reading past the end or a wrong tag yields an empty value.
class Value {
 public:
  Value() = default;
  explicit Value(std::span<const std::uint8_t> at) : at_(at) {}

  bool exists() const { return at_.size() >= 4; }
  Tag tag() const { return exists() ? static_cast<Tag>(word(0)) : Tag::null; }
  bool is(Tag wanted) const { return exists() && tag() == wanted; }
  bool is_null() const { return tag() == Tag::null; }

  bool boolean() const { return is(Tag::yes); }
  // Whole numbers of any tag, when exactly representable in the asked type.
  bool to_u64(std::uint64_t& out) const;
  bool to_i64(std::int64_t& out) const;
  bool to_u128(U128& out) const;
  bool to_f64(double& out) const;
  std::string_view text() const { return is(Tag::text) ? bytes::as_text(block()) : std::string_view{}; }
  std::span<const std::uint8_t> bytes() const {
    return is(Tag::bytes) ? block() : std::span<const std::uint8_t>{};
  }

  std::uint32_t count() const { return is(Tag::array) || is(Tag::map) ? word(1) : 0; }
  // Bytes this value takes on the tape; 0 when it is cut short.
  std::size_t length() const;
  // The value itself, as it lies on the tape; empty when it is cut short.
  std::span<const std::uint8_t> span() const { return at_.first(length()); }
  // The value that follows this one.
  Value next() const;
  // The first child of an array or map (for a map: the first key).
  Value first() const;
  // The value under a key of a map; a value that does not exist() when absent.
  Value get(std::string_view key) const;

 private:
  std::uint32_t word(std::size_t index) const {
    std::uint32_t value = 0;
    if ((index + 1) * 4 <= at_.size()) std::memcpy(&value, at_.data() + index * 4, 4);
    return value;
  }
  std::uint64_t pair(std::size_t index) const {
    return word(index) | static_cast<std::uint64_t>(word(index + 1)) << 32;
  }
  std::span<const std::uint8_t> block() const {
    const std::size_t size = word(1);
    return at_.size() >= 8 && size <= at_.size() - 8 ? at_.subspan(8, size) : std::span<const std::uint8_t>{};
  }
  std::span<const std::uint8_t> at_;
};

}  // namespace tidemark::tape
