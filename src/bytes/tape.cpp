#include "bytes/tape.hpp"

#include <cmath>

namespace tidemark::tape {

[[gnu::noinline]] void Writer::word(Tag kind, std::uint32_t value) {
  tag(kind);
  out_.u32(value);
}

[[gnu::noinline]] void Writer::pair(Tag kind, std::uint64_t value) {
  tag(kind);
  out_.u64(value);
}

[[gnu::noinline]] void Writer::block(Tag kind, std::span<const std::uint8_t> value) {
  word(kind, static_cast<std::uint32_t>(value.size()));
  out_.bytes(value);
  out_.zeros((4 - value.size() % 4) % 4);
}

bool Value::to_u64(std::uint64_t& out) const {
  switch (tag()) {
    case Tag::u32: out = word(1); return at_.size() >= 8;
    case Tag::i32: {
      const auto value = static_cast<std::int32_t>(word(1));
      out = static_cast<std::uint64_t>(value);
      return value >= 0;
    }
    case Tag::u64: out = pair(1); return at_.size() >= 12;
    case Tag::i64: out = pair(1); return static_cast<std::int64_t>(out) >= 0;
    case Tag::u128: out = pair(1); return pair(3) == 0;
    case Tag::f64: {
      const auto value = std::bit_cast<double>(pair(1));
      if (!(value >= 0 && value < 18446744073709551616.0) || value != std::floor(value)) return false;
      out = static_cast<std::uint64_t>(value);
      return true;
    }
    default: return false;
  }
}

bool Value::to_i64(std::int64_t& out) const {
  if (tag() == Tag::i32) {
    out = static_cast<std::int32_t>(word(1));
    return true;
  }
  if (tag() == Tag::i64) {
    out = static_cast<std::int64_t>(pair(1));
    return at_.size() >= 12;
  }
  if (tag() == Tag::f64) {
    const auto value = std::bit_cast<double>(pair(1));
    if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0) || value != std::floor(value))
      return false;
    out = static_cast<std::int64_t>(value);
    return true;
  }
  std::uint64_t whole = 0;
  if (!to_u64(whole) || whole > INT64_MAX) return false;
  out = static_cast<std::int64_t>(whole);
  return true;
}

bool Value::to_u128(U128& out) const {
  if (tag() == Tag::u128) {
    out = {pair(1), pair(3)};
    return at_.size() >= 20;
  }
  out.high = 0;
  return to_u64(out.low);
}

bool Value::to_f64(double& out) const {
  if (tag() == Tag::f64) {
    out = std::bit_cast<double>(pair(1));
    return at_.size() >= 12;
  }
  if (tag() == Tag::f32) {
    out = static_cast<double>(std::bit_cast<float>(word(1)));
    return at_.size() >= 8;
  }
  return false;
}

std::size_t Value::length() const {
  // Iterative over nested containers: `pending` counts the values still to pass.
  std::size_t at = 0;
  std::uint64_t pending = 1;
  while (pending > 0) {
    if (at + 4 > at_.size()) return 0;
    std::uint32_t tag_word = 0;
    std::memcpy(&tag_word, at_.data() + at, 4);
    std::uint32_t size = 0;
    if (at + 8 <= at_.size()) std::memcpy(&size, at_.data() + at + 4, 4);
    pending -= 1;
    switch (static_cast<Tag>(tag_word)) {
      case Tag::null:
      case Tag::no:
      case Tag::yes: at += 4; break;
      case Tag::u32:
      case Tag::i32:
      case Tag::f32: at += 8; break;
      case Tag::u64:
      case Tag::i64:
      case Tag::f64: at += 12; break;
      case Tag::u128: at += 20; break;
      case Tag::text:
      case Tag::bytes: at += 8 + (static_cast<std::size_t>(size) + 3) / 4 * 4; break;
      case Tag::array:
        at += 8;
        pending += size;
        break;
      case Tag::map:
        at += 8;
        pending += 2ULL * size;
        break;
      default: return 0;
    }
    if (at > at_.size()) return 0;
  }
  return at;
}

Value Value::next() const {
  const auto size = length();
  return size == 0 ? Value{} : Value{at_.subspan(size)};
}

Value Value::first() const { return count() > 0 ? Value{at_.subspan(8)} : Value{}; }

Value Value::get(std::string_view name) const {
  if (!is(Tag::map)) return {};
  auto key = first();
  for (std::uint32_t index = 0; index < count() && key.exists(); ++index) {
    const auto value = key.next();
    if (key.text() == name) return value;
    key = value.next();
  }
  return {};
}

}  // namespace tidemark::tape
