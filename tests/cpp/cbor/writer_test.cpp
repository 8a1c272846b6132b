#include "cbor/writer.hpp"

#include <catch2/catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "cbor/reader.hpp"

using tidemark::bytes::Buffer;
using tidemark::cbor::Reader;
using tidemark::cbor::Writer;

namespace {

template <class Write>
Buffer written(Write write) {
  Buffer out;
  Writer writer(out);
  write(writer);
  return out;
}
Buffer f64(double value) {
  return written([&](Writer& writer) { writer.f64(value); });
}
Buffer f32(float value) {
  return written([&](Writer& writer) { writer.f32(value); });
}

}  // namespace

TEST_CASE("integers take the shortest head") {
  const auto size = [](std::uint64_t value) {
    return written([&](Writer& writer) { writer.u64(value); }).size();
  };
  CHECK(size(23) == 1);
  CHECK(size(24) == 2);
  CHECK(size(255) == 2);
  CHECK(size(256) == 3);
  CHECK(size(65535) == 3);
  CHECK(size(65536) == 5);
  CHECK(size(UINT32_MAX) == 5);
  CHECK(size(std::uint64_t{UINT32_MAX} + 1) == 9);
  CHECK(written([](Writer& writer) { writer.i64(-1); }) == Buffer{0x20});
  CHECK(written([](Writer& writer) { writer.i64(INT64_MIN); }) ==
        Buffer{0x3B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF});
}

TEST_CASE("floats take the shortest width that gives back the same bits") {
  CHECK(f64(1.0) == Buffer{0xF9, 0x3C, 0x00});
  CHECK(f32(0.1F) == Buffer{0xFA, 0x3D, 0xCC, 0xCC, 0xCD});
  CHECK(f64(0.1).size() == 9);
  CHECK(f64(65504.0).size() == 3);
  CHECK(f64(65520.0).size() == 5);
  CHECK(f64(0x1p-24) == Buffer{0xF9, 0x00, 0x01});
  CHECK(f64(0x1.ff8p-15) == Buffer{0xF9, 0x03, 0xFF});
  CHECK(f64(0x1p-25).size() == 5);
  CHECK(f64(0x1.002p-14).size() == 5);
  CHECK(f64(-0.0) == Buffer{0xF9, 0x80, 0x00});
  CHECK(f64(std::numeric_limits<double>::quiet_NaN()) == Buffer{0xF9, 0x7E, 0x00});
  CHECK(f64(-std::numeric_limits<double>::infinity()) == Buffer{0xF9, 0xFC, 0x00});
  CHECK(f64(1e300).size() == 9);
  CHECK(f64(std::numeric_limits<double>::denorm_min()).size() == 9);
  CHECK(f64(static_cast<double>(std::numeric_limits<float>::denorm_min())).size() == 5);
}

TEST_CASE("what is written as a float reads back with the same bits") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50'000; ++round) {
    // Values near the half and single ranges are as likely as wild ones.
    auto bits = random();
    if (round % 3 == 1) bits &= 0xFFFFFFFFE0000000U;
    if (round % 3 == 2) bits = (bits & 0x83FFFC0000000000U) | 0x3800000000000000U;
    const auto value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;
    const auto out = f64(value);
    Reader reader(out);
    CHECK(std::bit_cast<std::uint64_t>(reader.f64()) == bits);
    CHECK(reader.at_end());
  }
}

TEST_CASE("u128 becomes a bignum only above 64 bits, without leading zeros") {
  const auto big = [](tidemark::tape::U128 value) {
    return written([&](Writer& writer) { writer.u128(value); });
  };
  CHECK(big({UINT64_MAX, 0}).front() == 0x1B);
  CHECK(big({0, 1}) == Buffer{0xC2, 0x49, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(big({UINT64_MAX, UINT64_MAX}).size() == 18);
  const auto out = big({3, 0x1234});
  Reader reader(out);
  CHECK(reader.u128() == tidemark::tape::U128{3, 0x1234});
}
