#include "agdx/utf16.hpp"

#include <catch2/catch_amalgamated.hpp>
#include <vector>

#include "cbor/reader.hpp"

namespace {

using tidemark::agdx::not_utf8;
using tidemark::agdx::utf16_units;

std::uint32_t units(std::vector<std::uint8_t> bytes) { return utf16_units(bytes); }

// Units by their definition, of text that is known to be UTF-8.
std::uint32_t counted(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t sum = 0;
  for (const auto byte : bytes) sum += byte >= 0xF0 ? 2 : (byte & 0xC0) == 0x80 ? 0 : 1;
  return sum;
}

TEST_CASE("units of text") {
  CHECK(units({}) == 0);
  CHECK(units({'a', 'b'}) == 2);
  CHECK(units({0xC5, 0x81, 'u'}) == 2);
  CHECK(units({0xE6, 0x9D, 0x8E}) == 1);
  CHECK(units({0xF0, 0x9F, 0x99, 0x82}) == 2);
}

TEST_CASE("every sequence of lead, next and boundary tails is told as the CBOR reader tells it") {
  const std::vector<std::uint8_t> tails = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  std::size_t valid = 0;
  const auto check = [&](const std::vector<std::uint8_t>& bytes) {
    const auto right = tidemark::cbor::valid_utf8(bytes);
    valid += right ? 1 : 0;
    if (utf16_units(bytes) == (right ? counted(bytes) : not_utf8)) return;
    CAPTURE(bytes);
    FAIL("told otherwise");
  };
  for (unsigned lead = 0; lead < 256; ++lead) {
    const auto first = static_cast<std::uint8_t>(lead);
    check({first});
    for (unsigned next = 0; next < 256; ++next) {
      const auto second = static_cast<std::uint8_t>(next);
      check({first, second});
      for (const auto third : tails) {
        check({first, second, third});
        for (const auto fourth : tails) check({first, second, third, fourth, 'z'});
      }
    }
  }
  CHECK(valid > 10'000);
}

}  // namespace
