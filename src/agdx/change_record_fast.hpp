#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "bytes/word.hpp"

// The encoding that every producer emits, read without a loop over keys: known order, definite lengths. Keys
// are compared as unaligned words. Anything else says false and takes the general path, which has the same
// meaning.
namespace tidemark::agdx::fast {

struct Change {
  std::string_view index;  // not yet checked to be UTF-8
  std::string_view stream;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint32_t partition = 0;
  std::uint32_t rows = 0;
  bool has_stream = false;
};

using bytes::load;
using bytes::swapped;

constexpr std::uint64_t word(std::string_view text) {
  std::uint64_t value = 0;
  for (std::size_t index = 0; index < text.size(); ++index)
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(text[index])) << (8 * index);
  return value;
}

[[gnu::always_inline]] inline bool same(const char* left, const char* right, std::size_t length) {
  if (length < 8) {
    for (std::size_t index = 0; index < length; ++index)
      if (left[index] != right[index]) return false;
    return true;
  }
  for (std::size_t index = 0; index + 8 < length; index += 8)
    if (load<std::uint64_t>(left + index) != load<std::uint64_t>(right + index)) return false;
  return load<std::uint64_t>(left + length - 8) == load<std::uint64_t>(right + length - 8);
}

// What follows the head of an unsigned integer, by the head: its bytes and which of them are the value.
inline constexpr std::uint8_t head_end = 0x1C;
struct Wholes {
  std::uint8_t size[32];
  std::uint64_t mask[32];
};
inline constexpr Wholes wholes = [] {
  Wholes made = {};
  for (std::size_t head = 0; head < 24; ++head) made.size[head] = 1, made.mask[head] = 0xFF;
  for (std::size_t more = 0; more < 4; ++more) {
    const auto width = std::size_t{1} << more;
    made.size[24 + more] = static_cast<std::uint8_t>(1 + width);
    made.mask[24 + more] = ~std::uint64_t{0} >> (64 - 8 * width);
  }
  return made;
}();

class Cursor {
 public:
  Cursor(const std::uint8_t* at, const std::uint8_t* end) : at_(at), end_(end) {}

  [[gnu::always_inline]] bool room(std::size_t length) const {
    return static_cast<std::size_t>(end_ - at_) >= length;
  }
  [[gnu::always_inline]] const std::uint8_t* at() const { return at_; }
  [[gnu::always_inline]] void advance(std::size_t length) { at_ += length; }
  [[gnu::always_inline]] bool at_end() const { return at_ == end_; }

  // A key of 8 to 16 bytes, its head included: two words that may overlap.
  [[gnu::always_inline]] bool key(std::uint64_t first, std::uint64_t last, std::size_t length) {
    if (!room(length)) return false;
    if (((load<std::uint64_t>(at_) ^ first) | (load<std::uint64_t>(at_ + length - 8) ^ last)) != 0)
      return false;
    at_ += length;
    return true;
  }

  // An integer behind a key. Widths vary from record to record and cannot be predicted, so nothing branches
  // on them: the word that ends with the value lies in the payload, for the key has bytes enough.
  [[gnu::always_inline]] bool whole(std::uint64_t& value) {
    if (at_ == end_ || *at_ >= head_end) return false;
    const std::size_t head = *at_;
    const std::size_t size = wholes.size[head];
    if (!room(size)) return false;
    at_ += size;
    value = swapped(load<std::uint64_t>(at_ - 8)) & wholes.mask[head];
    return true;
  }
  [[gnu::always_inline]] bool whole32(std::uint32_t& value) {
    if (at_ == end_ || *at_ >= head_end - 1) return false;
    const std::size_t head = *at_;
    const std::size_t size = wholes.size[head];
    if (!room(size)) return false;
    at_ += size;
    value = swapped(load<std::uint32_t>(at_ - 4)) & static_cast<std::uint32_t>(wholes.mask[head]);
    return true;
  }

  // Names up to 255 bytes; longer ones are no name of this contract's producers.
  [[gnu::always_inline]] bool text(std::string_view& value) {
    if (at_ == end_) return false;
    const auto head = *at_++;
    std::size_t length = head - 0x60U;
    if (head == 0x78) {
      if (at_ == end_) return false;
      length = *at_++;
    } else if (length > 23) {
      return false;
    }
    if (!room(length)) return false;
    value = {reinterpret_cast<const char*>(at_), length};
    at_ += length;
    return true;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

[[gnu::always_inline]] inline bool change(const std::uint8_t* begin, const std::uint8_t* end, Change& out) {
  Cursor in(begin, end);
  // Map of 6 or 7, "v": 1, "index":
  if (!in.room(10)) return false;
  const auto entries = *in.at();
  if (entries != 0xA6 && entries != 0xA7) return false;
  constexpr auto opening = word(
      "\x61v\x01\x65"
      "inde");
  if (load<std::uint64_t>(in.at() + 1) != opening || in.at()[9] != 'x') return false;
  in.advance(10);
  if (!in.text(out.index)) return false;
  if (!in.key(word("\x6Cpartiti"), word("ition_id"), 13) || !in.whole32(out.partition)) return false;
  if (!in.key(word("\x6B"
                   "from_of"),
              word("m_offset"), 12) ||
      !in.whole(out.from))
    return false;
  if (!in.key(word("\x69to_offs"), word("o_offset"), 10) || !in.whole(out.to)) return false;
  if (!in.room(5) || load<std::uint32_t>(in.at()) != static_cast<std::uint32_t>(word("\x64row")) ||
      in.at()[4] != 's')
    return false;
  in.advance(5);
  if (!in.whole32(out.rows)) return false;
  out.has_stream = entries == 0xA7;
  if (out.has_stream) {
    if (!in.room(7) || load<std::uint32_t>(in.at()) != static_cast<std::uint32_t>(word("\x66str")) ||
        load<std::uint32_t>(in.at() + 3) != static_cast<std::uint32_t>(word("ream")))
      return false;
    in.advance(7);
    if (!in.text(out.stream)) return false;
  }
  return in.at_end();
}

}  // namespace tidemark::agdx::fast
