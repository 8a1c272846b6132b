#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "agdx/column.hpp"
#include "agdx/schema.hpp"
#include "agdx/utf16.hpp"
#include "bytes/word.hpp"

namespace tidemark::agdx {

// The values of one field of a result, in the memory layout of Apache Arrow but for two things: a `fixed` has
// offsets as a `binary` does, and a struct has offsets too, so that a null takes no room in its children.
//
//   validity  one bit a slot, 1 = not null; bits behind the last slot are undefined
//   values    boolean: one bit a slot · int, date: i32 · long, times: i64 · float: f32 · double: f64 ·
//             decimal: i128 · uuid: 16 bytes · string, fixed, binary: the bytes · else none
//   offsets   length + 1 · string, fixed, binary: into values · list, map, struct: into the children's slots
//   utf16     length + 1 · string only: the same places counted in UTF-16 units of the decoded text
//
// Children: a struct's fields, a list's element, a map's key and value.
class QueryColumn {
 public:
  void start(const LogicalField& field);

  TypeKind kind = TypeKind::null;
  bool required = false;
  std::uint8_t precision = 0;
  std::uint8_t scale = 0;
  std::uint32_t width = 0;  // bytes a slot of `values`, 0 for bits and for variable sizes
  std::uint32_t fixed_length = 0;
  std::uint32_t length = 0;
  std::uint32_t nulls = 0;
  std::uint32_t bytes = 0;  // used of `values` with variable sizes
  bool ascii = true;

  // What a decimal's map ends with when it is written the shortest way.
  std::uint8_t decimal_tail[24] = {};
  std::uint32_t decimal_tail_size = 0;
  unsigned __int128 decimal_limit = 0;  // what |unscaled| must stay below

  Column<std::uint8_t> validity;
  Column<std::uint8_t> values;
  Column<std::uint32_t> offsets;
  Column<std::uint32_t> utf16;

  std::size_t values_size() const;
  std::size_t validity_size() const { return (length + 7) / 8; }
  bool has_offsets() const { return has_offsets_; }

  void push_null();
  template <class T>
  [[gnu::always_inline]] void push(T value) {
    make_room();
    std::memcpy(values.data() + length * sizeof(T), &value, sizeof(T));
    ++length;
  }
  void push_bit(bool value) {
    make_room();
    auto& byte = values[length / 8];
    const auto bit = static_cast<std::uint8_t>(1U << length % 8);
    byte = static_cast<std::uint8_t>(value ? byte | bit : byte & ~bit);
    ++length;
  }
  void push_uuid(const std::uint8_t* value) {
    make_room();
    std::memcpy(values.data() + length * 16UL, value, 16);
    ++length;
  }
  // Big-endian two's complement, 1 to 16 bytes.
  void push_decimal(std::span<const std::uint8_t> unscaled);
  void push_bytes(std::span<const std::uint8_t> value);
  // Copied by words where `slack`, that is eight bytes that can be read, follows. False, with nothing pushed,
  // when it is no UTF-8.
  [[gnu::always_inline]] bool push_text(std::span<const std::uint8_t> value, bool slack);
  // A list, map or struct whose entries now end at `end` in the children.
  void push_entries(std::uint32_t end) {
    make_room();
    offsets[length + 1] = end;
    ++length;
  }

 private:
  [[gnu::always_inline]] void make_room() {
    if (length >= slots_) [[unlikely]]
      grow();
  }
  [[gnu::noinline]] void grow();
  [[gnu::always_inline]] void room_for(std::uint32_t more) {
    if (values.capacity() - bytes < more + 8UL) [[unlikely]]
      grow_values(more);
  }
  [[gnu::noinline]] void grow_values(std::uint32_t more);
  void append(std::span<const std::uint8_t> value) {
    room_for(static_cast<std::uint32_t>(value.size()));
    if (!value.empty()) std::memcpy(values.data() + bytes, value.data(), value.size());
    bytes += static_cast<std::uint32_t>(value.size());
    offsets[length + 1] = bytes;
  }

  bool has_offsets_ = false;
  std::uint32_t slots_ = 0;  // that there is room for
};

inline bool QueryColumn::push_text(std::span<const std::uint8_t> value, bool slack) {
  make_room();
  const auto size = static_cast<std::uint32_t>(value.size());
  room_for(size);
  auto* to = values.data() + bytes;
  std::uint64_t high = 0;
  std::uint32_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const auto word = tidemark::bytes::load<std::uint64_t>(value.data() + at);
    std::memcpy(to + at, &word, 8);
    high |= word;
  }
  if (at < size) {
    std::uint64_t word = 0;
    if (slack)
      word = tidemark::bytes::load<std::uint64_t>(value.data() + at);
    else
      std::memcpy(&word, value.data() + at, size - at);
    std::memcpy(to + at, &word, 8);
    high |= word & (~std::uint64_t{0} >> (64 - 8 * (size - at)));
  }
  auto units = size;
  if ((high & 0x8080808080808080U) != 0) {
    units = utf16_units(value);
    if (units == not_utf8) return false;
    ascii = false;
  }
  bytes += size;
  offsets[length + 1] = bytes;
  utf16[length + 1] = utf16[length] + units;
  ++length;
  return true;
}

// The columns of a result: one a node of the field tree, in its order.
class QueryColumns {
 public:
  void start(const FieldTree& tree);
  std::uint32_t count() const { return count_; }
  QueryColumn& operator[](std::uint32_t node) { return columns_[node]; }
  const QueryColumn& operator[](std::uint32_t node) const { return columns_[node]; }

 private:
  std::vector<QueryColumn> columns_;
  std::uint32_t count_ = 0;
};

}  // namespace tidemark::agdx
