#include "cbor/writer.hpp"

#include <bit>

namespace tidemark::cbor {

namespace {

// The half with exactly the bits of `bits` (a single), or nothing where it would lose some.
bool to_half(std::uint32_t bits, std::uint16_t& half) {
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const auto exponent = static_cast<std::int32_t>(bits >> 23 & 0xFF);
  const auto fraction = bits & 0x7FFFFF;
  if (exponent == 0xFF) {
    if ((fraction & 0x1FFF) != 0) return false;
    half = static_cast<std::uint16_t>(sign | 0x7C00 | fraction >> 13);
    return true;
  }
  if (exponent == 0 && fraction == 0) {
    half = sign;
    return true;
  }
  const auto power = exponent - 127;
  if (power >= -14 && power <= 15) {
    if ((fraction & 0x1FFF) != 0) return false;
    half = static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(power + 15) << 10 | fraction >> 13);
    return true;
  }
  if (power >= -24 && power < -14) {
    const auto whole = fraction | 0x800000;
    const auto shift = static_cast<unsigned>(-power - 1);
    if ((whole & ((1U << shift) - 1)) != 0) return false;
    half = static_cast<std::uint16_t>(sign | whole >> shift);
    return true;
  }
  return false;
}

}  // namespace

void Writer::head(unsigned major, std::uint64_t argument) {
  const auto initial = static_cast<std::uint8_t>(major << 5);
  if (argument < 24) {
    out_.push_back(static_cast<std::uint8_t>(initial | argument));
  } else if (argument <= 0xFF) {
    out_.push_back(initial | 24);
    big_endian(argument, 1);
  } else if (argument <= 0xFFFF) {
    out_.push_back(initial | 25);
    big_endian(argument, 2);
  } else if (argument <= 0xFFFFFFFF) {
    out_.push_back(initial | 26);
    big_endian(argument, 4);
  } else {
    out_.push_back(initial | 27);
    big_endian(argument, 8);
  }
}

void Writer::big_endian(std::uint64_t value, unsigned width) {
  while (width-- > 0) out_.push_back(static_cast<std::uint8_t>(value >> (width * 8)));
}

void Writer::u128(tape::U128 value) {
  if (value.high == 0) return head(0, value.low);
  const auto width = (static_cast<unsigned>(std::bit_width(value.high)) + 7) / 8;
  out_.push_back(0xC2);
  head(2, width + 8);
  big_endian(value.high, width);
  big_endian(value.low, 8);
}

void Writer::f32(float value) {
  if (value != value) {
    out_.push_back(0xF9);
    return big_endian(0x7E00, 2);
  }
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint16_t half = 0;
  if (to_half(bits, half)) {
    out_.push_back(0xF9);
    return big_endian(half, 2);
  }
  out_.push_back(0xFA);
  big_endian(bits, 4);
}

void Writer::f64(double value) {
  constexpr double largest_single = 0x1.fffffep127;
  const bool finite = value >= -0x1.fffffffffffffp1023 && value <= 0x1.fffffffffffffp1023;
  // Converting what a float cannot hold is undefined, so the range is looked at first.
  if (!finite || (value >= -largest_single && value <= largest_single)) {
    const auto single = static_cast<float>(value);
    if (!finite ||
        std::bit_cast<std::uint64_t>(static_cast<double>(single)) == std::bit_cast<std::uint64_t>(value))
      return f32(single);
  }
  out_.push_back(0xFB);
  big_endian(std::bit_cast<std::uint64_t>(value), 8);
}

}  // namespace tidemark::cbor
