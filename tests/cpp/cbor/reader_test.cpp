#include "cbor/reader.hpp"

#include <catch2/catch_amalgamated.hpp>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

using tidemark::Rule;
using tidemark::cbor::Reader;
using Bytes = std::vector<std::uint8_t>;

namespace {

Bytes nested(std::size_t levels, std::uint8_t opening) {
  Bytes bytes(levels, opening);
  bytes.push_back(0);
  return bytes;
}

Rule skip_whole(const Bytes& input) {
  Reader reader(input);
  reader.skip();
  reader.expect_end();
  return reader.rule();
}

}  // namespace

TEST_CASE("a whole number is read from any head, shortest or not") {
  for (const Bytes& input :
       {Bytes{0x05}, {0x18, 5}, {0x19, 0, 5}, {0x1A, 0, 0, 0, 5}, {0x1B, 0, 0, 0, 0, 0, 0, 0, 5}}) {
    Reader reader(input);
    CHECK(reader.u64() == 5);
    CHECK(reader.ok());
    CHECK(reader.at_end());
  }
}

TEST_CASE("a number that does not fit its type is refused where it stands") {
  const Bytes input{0x01, 0x19, 1, 0};
  Reader reader(input);
  CHECK(reader.u8() == 1);
  CHECK(reader.u8() == 0);
  CHECK(reader.rule() == Rule::integer_range);
  CHECK(reader.error_position() == 1);

  const Bytes minus_one{0x20};
  Reader negative(minus_one);
  negative.u64();
  CHECK(negative.rule() == Rule::integer_range);

  const Bytes below{0x3B, 0x80, 0, 0, 0, 0, 0, 0, 0};
  Reader signed_reader(below);
  signed_reader.i64();
  CHECK(signed_reader.rule() == Rule::integer_range);
  const Bytes lowest{0x3B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  Reader lowest_reader(lowest);
  CHECK(lowest_reader.i64() == INT64_MIN);
  CHECK(lowest_reader.ok());
}

TEST_CASE("an integer is no float and a float is no integer") {
  const Bytes one{0x01};
  Reader as_float(one);
  as_float.f64();
  CHECK(as_float.rule() == Rule::wrong_type);
  const Bytes half{0xF9, 0x3C, 0x00};
  Reader as_integer(half);
  as_integer.u64();
  CHECK(as_integer.rule() == Rule::wrong_type);
  Reader right(half);
  CHECK(right.f64() == 1.0);
}

TEST_CASE("half floats keep every value they can hold") {
  const auto half = [](std::uint8_t high, std::uint8_t low) {
    const Bytes input{0xF9, high, low};
    Reader reader(input);
    return reader.f64();
  };
  CHECK(half(0x00, 0x01) == 0x1p-24);
  CHECK(half(0x03, 0xFF) == 0x1.ff8p-15);
  CHECK(half(0x04, 0x00) == 0x1p-14);
  CHECK(half(0x7B, 0xFF) == 65504.0);
  CHECK(half(0xC0, 0x00) == -2.0);
  CHECK(std::isinf(half(0x7C, 0x00)));
  CHECK(std::isnan(half(0x7E, 0x00)));
  CHECK(std::signbit(half(0x80, 0x00)));
}

TEST_CASE("strings come whole or in chunks, and their views stay") {
  const Bytes input{0x7F, 0x61, 'a',  0x60, 0x62, 'b',  'c', 0xFF, 0x5F, 0x41,
                    1,    0xFF, 0x83, 1,    0x18, 0xFF, 3,   0x41, 9};
  Reader reader(input);
  const auto text = reader.text();
  const auto chunked = reader.bytes();
  const auto numbers = reader.bytes();
  const auto plain = reader.bytes();
  REQUIRE(reader.ok());
  CHECK(text == "abc");
  CHECK(Bytes(chunked.begin(), chunked.end()) == Bytes{1});
  CHECK(Bytes(numbers.begin(), numbers.end()) == Bytes{1, 255, 3});
  CHECK(plain[0] == 9);
  CHECK(reader.at_end());
}

TEST_CASE("a chunk is a definite string of the same kind") {
  CHECK(skip_whole({0x7F, 0x41, 1, 0xFF}) == Rule::cbor_malformed);
  CHECK(skip_whole({0x7F, 0x7F, 0xFF, 0xFF}) == Rule::cbor_malformed);
  CHECK(skip_whole({0x7F, 0x61, 'a'}) == Rule::truncated);
}

TEST_CASE("text must be UTF-8") {
  for (const auto* bad : {"\x80", "\xC0\x80", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF8\x88\x80\x80\x80", "\xE0\x80\x80", "12345678\xFF"}) {
    const std::string text = bad;
    Bytes input{static_cast<std::uint8_t>(0x60 + text.size())};
    input.insert(input.end(), text.begin(), text.end());
    CHECK(skip_whole(input) == Rule::invalid_utf8);
  }
  const std::string good = "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8C\x8A";
  Bytes input{static_cast<std::uint8_t>(0x60 + good.size())};
  input.insert(input.end(), good.begin(), good.end());
  Reader reader(input);
  CHECK(reader.text() == good);
  CHECK(reader.ok());
}

TEST_CASE("a declared length that cannot be there fails before anything is made for it") {
  for (const auto initial : std::initializer_list<std::uint8_t>{0x5B, 0x7B, 0x9B, 0xBB}) {
    const Bytes input{initial, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0};
    CHECK(skip_whole(input) == Rule::truncated);
    Reader reader(input);
    auto list = reader.array();
    CHECK_FALSE(reader.next(list));
    CHECK_FALSE(reader.ok());
  }
}

TEST_CASE("nesting ends at 256 levels, however it is opened") {
  for (const auto opening : std::initializer_list<std::uint8_t>{0x81, 0x9F}) {
    auto deepest = nested(256, opening);
    if (opening == 0x9F) deepest.insert(deepest.end(), 256, 0xFF);
    CHECK(skip_whole(deepest) == Rule::none);
    CHECK(skip_whole(nested(257, opening)) == Rule::cbor_depth);
    CHECK(skip_whole(nested(100'000, opening)) == Rule::cbor_depth);
  }
  CHECK(rule_name(Rule::cbor_depth) == "depth_exceeded");
}

TEST_CASE("the levels around a skipped value count") {
  const auto inside = [](std::size_t levels) {
    auto input = nested(levels, 0x81);
    input.insert(input.begin(), {0xA1, 0x61, 'x'});
    Reader reader(input);
    auto map = reader.map();
    while (reader.next(map)) {
      reader.text();
      reader.skip();
    }
    return reader.rule();
  };
  CHECK(inside(255) == Rule::none);
  CHECK(inside(256) == Rule::cbor_depth);
}

TEST_CASE("indefinite maps end between entries only") {
  CHECK(skip_whole({0xBF, 0x61, 'a', 1, 0xFF}) == Rule::none);
  CHECK(skip_whole({0xBF, 0x61, 'a', 0xFF}) == Rule::cbor_malformed);
  CHECK(skip_whole({0xBF, 0x61, 'a', 1}) == Rule::truncated);
  CHECK(skip_whole({0xFF}) != Rule::none);
}

TEST_CASE("reserved forms are refused") {
  for (const auto initial :
       std::initializer_list<std::uint8_t>{0x1C, 0x1F, 0x3F, 0x5D, 0xDF, 0xFC, 0xE0, 0xF8})
    CHECK(skip_whole({initial, 0, 0, 0, 0, 0, 0, 0, 0}) != Rule::none);
}

TEST_CASE("u128 is a plain integer or a bignum of at most 16 bytes") {
  const Bytes plain{0x18, 42};
  Reader small(plain);
  CHECK(small.u128() == tidemark::tape::U128{42, 0});
  Bytes big{0xC2, 0x49, 1, 0, 0, 0, 0, 0, 0, 0, 2};
  Reader large(big);
  CHECK(large.u128() == tidemark::tape::U128{2, 1});
  Bytes too_long{0xC2, 0x51};
  too_long.insert(too_long.end(), 17, 1);
  Reader refused(too_long);
  refused.u128();
  CHECK(refused.rule() == Rule::integer_range);
  const Bytes other_tag{0xC3, 0x41, 1};
  Reader negative(other_tag);
  negative.u128();
  CHECK(negative.rule() == Rule::wrong_type);
}

TEST_CASE("a failure sticks and every later read is harmless") {
  const Bytes input{0x61};
  Reader reader(input);
  CHECK(reader.text().empty());
  CHECK(reader.rule() == Rule::truncated);
  CHECK(reader.u64() == 0);
  CHECK_FALSE(reader.boolean());
  CHECK(reader.bytes().empty());
  auto map = reader.map();
  CHECK_FALSE(reader.next(map));
  reader.skip();
  CHECK(reader.rule() == Rule::truncated);
  CHECK(reader.error_position() == 0);
}

TEST_CASE("random bytes never read past the end and never hang") {
  std::mt19937 random(20261130);
  for (int round = 0; round < 20'000; ++round) {
    Bytes input(random() % 64);
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
    const Bytes exact(input);
    skip_whole(exact);
    Reader reader(exact);
    auto list = reader.array();
    std::size_t steps = 0;
    while (reader.next(list) && ++steps < 100) reader.skip();
    CHECK(steps < 100);
  }
}
