#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

namespace tidemark::cbor {

enum class Major : std::uint8_t { whole, negative, bytes, text, array, map, tag, simple };

inline constexpr std::uint32_t max_depth = 256;

// Also whether every code point is the shortest form and no surrogate.
bool valid_utf8(std::span<const std::uint8_t> text);

// Decodes one item by pulling. The first failure sticks: every later read gives a harmless zero and every
// loop over a container ends, so that decoders check once. Views point into the input, or (a chunked string,
// an array of integers read as bytes) into the reader: they live as long as both.
//
//   auto map = reader.map();
//   while (reader.next(map)) { const auto key = reader.text(); ... one value or skip() ... }
class Reader {
 public:
  struct Head {
    Major major = Major::simple;
    std::uint8_t info = 0;  // 31: indefinite length, or the break of one
    std::uint64_t argument = 0;
  };
  // What is left of a map (in entries) or an array (in items).
  struct Container {
    std::uint64_t left = 0;
    bool indefinite = false;
  };

  Reader() = default;
  explicit Reader(std::span<const std::uint8_t> input)
      : begin_(input.data()), at_(input.data()), end_(input.data() + input.size()) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Starts over on other input; storage is kept.
  void reset(std::span<const std::uint8_t> input) {
    begin_ = at_ = input.data();
    end_ = begin_ + input.size();
    depth_ = 0;
    rule_ = Rule::none;
    error_at_ = 0;
    owned_.clear();
  }

  bool ok() const { return rule_ == Rule::none; }
  Rule rule() const { return rule_; }
  std::size_t error_position() const { return error_at_; }
  Error error() const {
    Error error;
    error.rule = rule_;
    error.position = static_cast<std::uint32_t>(error_at_);
    return error;
  }
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  bool at_end() const { return at_ == end_; }
  std::uint32_t depth() const { return depth_; }

  void fail(Rule rule) { fail(rule, position()); }
  void fail(Rule rule, std::size_t position) {
    if (!ok()) return;
    rule_ = rule;
    error_at_ = position;
    at_ = end_;
  }
  void expect_end() {
    if (ok() && !at_end()) fail(Rule::trailing_bytes);
  }

  // The kind of the next item, without taking it. `simple` at the end of the input.
  Major peek() const { return at_ < end_ ? static_cast<Major>(*at_ >> 5) : Major::simple; }
  std::uint8_t peek_byte() const { return at_ < end_ ? *at_ : 0xFF; }

  // Any head. Fails on reserved forms; an indefinite length only where the kind has one.
  [[gnu::always_inline]] Head head() {
    if (at_ >= end_) [[unlikely]] {
      fail(Rule::truncated);
      return {};
    }
    const std::uint8_t initial = *at_;
    const auto info = static_cast<std::uint8_t>(initial & 31);
    if (info < 24) [[likely]] {
      ++at_;
      return {static_cast<Major>(initial >> 5), info, info};
    }
    return long_head();
  }

  // The next item is null (or undefined): takes it. Otherwise takes nothing.
  [[gnu::always_inline]] bool take_null() {
    if (at_ >= end_ || (*at_ != 0xF6 && *at_ != 0xF7)) return false;
    ++at_;
    return true;
  }

  [[gnu::always_inline]] std::uint64_t u64() {
    const auto from = at_;
    const auto item = head();
    if (item.major != Major::whole) [[unlikely]]
      not_whole(item, from);
    return ok() ? item.argument : 0;
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(up_to(UINT32_MAX)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(up_to(UINT16_MAX)); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(up_to(UINT8_MAX)); }
  std::int64_t i64();
  std::int32_t i32();
  tape::U128 u128();
  bool boolean();
  // Float items of any width; `f32` narrows.
  double f64();
  float f32() { return static_cast<float>(f64()); }

  [[gnu::always_inline]] std::string_view text() {
    const auto from = at_;
    const auto item = head();
    if (item.major == Major::text && item.info != 31 && item.argument <= remaining()) [[likely]] {
      const std::span<const std::uint8_t> value{at_, static_cast<std::size_t>(item.argument)};
      if (!ascii(value) && !valid_utf8(value)) [[unlikely]] {
        fail(Rule::invalid_utf8, static_cast<std::size_t>(from - begin_));
        return {};
      }
      at_ += value.size();
      return bytes::as_text(value);
    }
    return bytes::as_text(slow_string(item, from, Major::text));
  }
  // A byte string, or an array of integers 0 to 255.
  [[gnu::always_inline]] std::span<const std::uint8_t> bytes() {
    const auto from = at_;
    const auto item = head();
    if (item.major == Major::bytes && item.info != 31 && item.argument <= remaining()) [[likely]] {
      const std::span<const std::uint8_t> value{at_, static_cast<std::size_t>(item.argument)};
      at_ += value.size();
      return value;
    }
    return slow_string(item, from, Major::bytes);
  }
  // A 16-byte identity.
  std::span<const std::uint8_t> id();

  [[gnu::always_inline]] Container map() { return container(Major::map); }
  [[gnu::always_inline]] Container array() { return container(Major::array); }
  // Whether there is another entry or item; takes the end of an indefinite container. Call until it says
  // false.
  [[gnu::always_inline]] bool next(Container& container) {
    if (!ok()) [[unlikely]]
      return false;
    if (!container.indefinite) [[likely]] {
      if (container.left > 0) {
        --container.left;
        return true;
      }
    } else if (at_ >= end_) {
      fail(Rule::truncated);
      return false;
    } else if (*at_ != 0xFF) {
      return true;
    } else {
      ++at_;
    }
    --depth_;
    return false;
  }
  // How many items to make room for: never more than the bytes that are left could hold.
  std::size_t reservation(const Container& container) const {
    return container.indefinite ? 0 : static_cast<std::size_t>(container.left);
  }

  // A place to come back to, for a value whose kind follows it. Going back does not clear a failure.
  struct Mark {
    const std::uint8_t* at = nullptr;
    std::uint32_t depth = 0;
  };
  Mark mark() const { return {at_, depth_}; }
  void back(Mark mark) {
    if (!ok()) return;
    at_ = mark.at;
    depth_ = mark.depth;
  }
  // The next item's own bytes (checked to be one whole item); for values that are read later.
  std::span<const std::uint8_t> raw() {
    const auto from = at_;
    skip();
    return ok() ? std::span<const std::uint8_t>{from, at_} : std::span<const std::uint8_t>{};
  }

  // Passes over one whole item of any kind, without recursion.
  void skip();

 protected:
  // The same as the inlined ones.
  std::string_view called_text();
  std::span<const std::uint8_t> called_bytes();
  Container called_container(Major wanted);
  bool called_next(Container& container);
  Head called_head();

 private:
  [[gnu::always_inline]] Container container(Major wanted) {
    const auto from = at_;
    const auto item = head();
    if (!ok()) return {};
    if (item.major != wanted) [[unlikely]] {
      fail(Rule::wrong_type, static_cast<std::size_t>(from - begin_));
      return {};
    }
    // Every item takes a byte: a count that cannot be there fails before anything is made for it.
    if (item.info != 31 && item.argument > remaining() / (wanted == Major::map ? 2U : 1U)) [[unlikely]] {
      fail(Rule::truncated, static_cast<std::size_t>(from - begin_));
      return {};
    }
    if (++depth_ > max_depth) [[unlikely]] {
      fail(Rule::cbor_depth, static_cast<std::size_t>(from - begin_));
      return {};
    }
    return {item.argument, item.info == 31};
  }
  std::uint64_t up_to(std::uint64_t maximum) {
    const auto from = position();
    const auto value = u64();
    if (value <= maximum) return value;
    fail(Rule::integer_range, from);
    return 0;
  }
  static bool ascii(std::span<const std::uint8_t> text) {
    std::size_t index = 0;
    for (; index + 8 <= text.size(); index += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + index, 8);
      if ((word & 0x8080808080808080U) != 0) return false;
    }
    for (; index < text.size(); ++index)
      if (text[index] >= 0x80) return false;
    return true;
  }
  Head long_head();
  void not_whole(const Head& item, const std::uint8_t* from);
  std::span<const std::uint8_t> slow_string(const Head& item, const std::uint8_t* from, Major wanted);
  void pass_string(Major kind);
  bytes::Buffer& own();

  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::uint32_t depth_ = 0;
  Rule rule_ = Rule::none;
  std::size_t error_at_ = 0;
  // Each string that is not one run of the input; addresses must not move.
  std::vector<std::unique_ptr<bytes::Buffer>> owned_;
};

// A reader for what is read seldom: calls in place of the inlined methods, a tenth of their code.
class CompactReader : public Reader {
 public:
  using Reader::Reader;
  std::string_view text() { return called_text(); }
  std::span<const std::uint8_t> bytes() { return called_bytes(); }
  Container map() { return called_container(Major::map); }
  Container array() { return called_container(Major::array); }
  bool next(Container& container) { return called_next(container); }
};

}  // namespace tidemark::cbor
