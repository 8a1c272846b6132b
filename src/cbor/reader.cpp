#include "cbor/reader.hpp"

namespace tidemark::cbor {

namespace {

constexpr std::uint8_t stop = 0xFF;
constexpr std::uint64_t bignum_tag = 2;

double half_to_double(std::uint16_t half) {
  const auto sign = static_cast<std::uint64_t>(half >> 15) << 63;
  const auto exponent = static_cast<std::uint64_t>(half >> 10 & 31);
  const auto fraction = static_cast<std::uint64_t>(half & 1023);
  if (exponent == 31) return std::bit_cast<double>(sign | 0x7FF0000000000000U | fraction << 42);
  if (exponent != 0) return std::bit_cast<double>(sign | (exponent + 1008) << 52 | fraction << 42);
  const auto small = static_cast<double>(fraction) * 0x1p-24;
  return sign != 0 ? -small : small;
}

}  // namespace

bool valid_utf8(std::span<const std::uint8_t> text) {
  const auto size = text.size();
  std::size_t at = 0;
  while (at < size) {
    const auto lead = text[at];
    if (lead < 0x80) {
      ++at;
      continue;
    }
    std::size_t length = 0;
    std::uint8_t low = 0x80;
    std::uint8_t high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      length = 3;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      length = 4;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return false;
    }
    if (length > size - at) return false;
    if (text[at + 1] < low || text[at + 1] > high) return false;
    for (std::size_t index = 2; index < length; ++index)
      if ((text[at + index] & 0xC0) != 0x80) return false;
    at += length;
  }
  return true;
}

[[gnu::noinline]] Reader::Head Reader::called_head() { return head(); }
[[gnu::noinline]] std::string_view Reader::called_text() { return text(); }
[[gnu::noinline]] std::span<const std::uint8_t> Reader::called_bytes() { return bytes(); }
[[gnu::noinline]] Reader::Container Reader::called_container(Major wanted) { return container(wanted); }
[[gnu::noinline]] bool Reader::called_next(Container& container) { return next(container); }

Reader::Head Reader::long_head() {
  const auto from = position();
  const auto initial = *at_;
  const auto major = static_cast<Major>(initial >> 5);
  const auto info = static_cast<std::uint8_t>(initial & 31);
  if (info == 31) {
    const auto has_length = major != Major::whole && major != Major::negative && major != Major::tag;
    if (!has_length) {
      fail(Rule::cbor_malformed, from);
      return {};
    }
    ++at_;
    return {major, info, 0};
  }
  if (info > 27) {
    fail(Rule::cbor_malformed, from);
    return {};
  }
  const std::size_t width = std::size_t{1} << (info - 24);
  if (remaining() < 1 + width) {
    fail(Rule::truncated, from);
    return {};
  }
  ++at_;
  std::uint64_t argument = 0;
  for (std::size_t index = 0; index < width; ++index) argument = argument << 8 | *at_++;
  return {major, info, argument};
}

void Reader::not_whole(const Head& item, const std::uint8_t* from) {
  fail(item.major == Major::negative ? Rule::integer_range : Rule::wrong_type,
       static_cast<std::size_t>(from - begin_));
}

std::int64_t Reader::i64() {
  const auto from = position();
  const auto item = head();
  if (!ok()) return 0;
  if (item.major != Major::whole && item.major != Major::negative) {
    fail(Rule::wrong_type, from);
    return 0;
  }
  if (item.argument > INT64_MAX) {
    fail(Rule::integer_range, from);
    return 0;
  }
  const auto value = static_cast<std::int64_t>(item.argument);
  return item.major == Major::whole ? value : -1 - value;
}

std::int32_t Reader::i32() {
  const auto from = position();
  const auto value = i64();
  if (value >= INT32_MIN && value <= INT32_MAX) return static_cast<std::int32_t>(value);
  fail(Rule::integer_range, from);
  return 0;
}

tape::U128 Reader::u128() {
  const auto from = position();
  if (peek() != Major::tag) return {u64(), 0};
  const auto tag = called_head();
  if (tag.argument != bignum_tag) fail(Rule::wrong_type, from);
  if (ok() && peek() != Major::bytes) fail(Rule::wrong_type, from);
  const auto digits = called_bytes();
  if (digits.size() > 16) fail(Rule::integer_range, from);
  if (!ok()) return {};
  tape::U128 value;
  for (const auto digit : digits) {
    value.high = value.high << 8 | value.low >> 56;
    value.low = value.low << 8 | digit;
  }
  return value;
}

bool Reader::boolean() {
  const auto from = position();
  const auto item = head();
  if (item.major == Major::simple && (item.info == 20 || item.info == 21)) return item.info == 21;
  fail(Rule::wrong_type, from);
  return false;
}

double Reader::f64() {
  const auto from = position();
  const auto item = head();
  if (!ok()) return 0;
  if (item.major == Major::simple) {
    if (item.info == 25) return half_to_double(static_cast<std::uint16_t>(item.argument));
    if (item.info == 26)
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(item.argument)));
    if (item.info == 27) return std::bit_cast<double>(item.argument);
  }
  fail(Rule::wrong_type, from);
  return 0;
}

std::span<const std::uint8_t> Reader::id() {
  const auto from = position();
  const auto value = bytes();
  if (!ok() || value.size() == 16) return value;
  fail(Rule::id_length, from);
  return {};
}

bytes::Buffer& Reader::own() {
  owned_.push_back(std::make_unique<bytes::Buffer>());
  return *owned_.back();
}

__attribute__((minsize)) std::span<const std::uint8_t> Reader::slow_string(const Head& item,
                                                                           const std::uint8_t* from,
                                                                           Major wanted) {
  const auto start = static_cast<std::size_t>(from - begin_);
  if (!ok()) return {};
  if (item.major == wanted && item.info != 31) {
    fail(Rule::truncated, start);
    return {};
  }
  if (item.major == wanted) {
    auto& joined = own();
    while (ok()) {
      if (at_end()) {
        fail(Rule::truncated);
      } else if (*at_ == stop) {
        ++at_;
        return joined;
      } else if (peek() != wanted || (*at_ & 31) == 31) {
        fail(Rule::cbor_malformed);
      } else {
        // A chunk is a definite string: this never nests.
        const auto chunk = wanted == Major::text ? bytes::as_bytes(called_text()) : called_bytes();
        joined.insert(joined.end(), chunk.begin(), chunk.end());
      }
    }
    return {};
  }
  if (wanted == Major::bytes && item.major == Major::array) {
    at_ = from;
    auto items = called_container(Major::array);
    auto& joined = own();
    while (called_next(items)) joined.push_back(u8());
    return ok() ? std::span<const std::uint8_t>{joined} : std::span<const std::uint8_t>{};
  }
  fail(Rule::wrong_type, start);
  return {};
}

void Reader::pass_string(Major kind) {
  if (kind == Major::text)
    called_text();
  else
    called_bytes();
}

__attribute__((minsize)) void Reader::skip() {
  // Per open container: how many items are left, or `endless`, or (a map's value is due) `endless_value`.
  constexpr std::uint64_t endless = UINT64_MAX;
  constexpr std::uint64_t endless_value = UINT64_MAX - 1;
  std::uint64_t left[max_depth];
  std::uint32_t open = 0;
  bool is_map[max_depth];
  do {
    const auto from = position();
    if (open > 0 && left[open - 1] >= endless_value && peek_byte() == stop && !at_end()) {
      // A break is only legal where the next entry would begin.
      if (left[open - 1] == endless_value) {
        fail(Rule::cbor_malformed, from);
        return;
      }
      ++at_;
      --open;
    } else {
      if (open > 0) {
        auto& count = left[open - 1];
        if (count < endless_value)
          --count;
        else if (is_map[open - 1])
          count = count == endless ? endless_value : endless;
      }
      const auto kind = peek();
      if (kind == Major::text || kind == Major::bytes) {
        pass_string(kind);
      } else {
        auto item = called_head();
        while (ok() && item.major == Major::tag) {
          // What a tag stands before is one item with it.
          if (peek() == Major::text || peek() == Major::bytes) break;
          item = called_head();
        }
        if (!ok()) return;
        if (item.major == Major::tag) {
          pass_string(peek());
        } else if (item.major == Major::array || item.major == Major::map) {
          const bool map = item.major == Major::map;
          if (item.info != 31 && item.argument > remaining() / (map ? 2U : 1U)) {
            fail(Rule::truncated, from);
            return;
          }
          if (depth_ + open + 1 > max_depth) {
            fail(Rule::cbor_depth, from);
            return;
          }
          left[open] = item.info == 31 ? endless : item.argument * (map ? 2 : 1);
          is_map[open] = map;
          ++open;
        } else if (item.major == Major::simple) {
          const bool known = (item.info >= 20 && item.info <= 23) || (item.info >= 25 && item.info <= 27);
          if (!known) {
            fail(Rule::cbor_malformed, from);
            return;
          }
        }
      }
    }
    while (open > 0 && left[open - 1] == 0) --open;
  } while (open > 0 && ok());
}

}  // namespace tidemark::cbor
