#include "bytes/tape.hpp"

#include <catch2/catch_amalgamated.hpp>

using namespace tidemark;

TEST_CASE("a tape gives back nested values under their keys") {
  bytes::Buffer out;
  tape::Writer writer(out);
  const auto map = writer.open(tape::Tag::map);
  writer.key("offset"), writer.u64(0xFFFF'FFFF'FFFF'FFFF);
  writer.key("names");
  const auto names = writer.open(tape::Tag::array);
  writer.text("é"), writer.text("");
  writer.close(names, 2);
  writer.close(map, 2);

  const tape::Value value{out};
  std::uint64_t offset = 0;
  REQUIRE(value.get("offset").to_u64(offset));
  CHECK(offset == 0xFFFF'FFFF'FFFF'FFFF);
  CHECK(value.get("names").count() == 2);
  CHECK(value.get("names").first().text() == "é");
  CHECK(value.length() == out.size());
  CHECK_FALSE(value.get("missing").exists());
}

TEST_CASE("a cut tape reads as empty values and never past its end") {
  bytes::Buffer out;
  tape::Writer writer(out);
  const auto map = writer.open(tape::Tag::map);
  writer.key("k"), writer.bytes(std::array<std::uint8_t, 3>{1, 2, 3});
  writer.close(map, 1);
  for (std::size_t size = 0; size < out.size(); ++size) {
    const bytes::Buffer cut(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(tape::Value{cut}.length() == 0);
    (void)tape::Value{cut}.get("k").bytes();
  }
}

TEST_CASE("numbers convert only when the value is exact in the asked type") {
  bytes::Buffer out;
  tape::Writer writer(out);
  writer.f64(20.0), writer.f64(20.5), writer.i64(-1), writer.u64(1ULL << 63);
  tape::Value value{out};
  std::uint64_t whole = 0;
  std::int64_t number = 0;
  CHECK((value.to_u64(whole) && whole == 20));
  value = value.next();
  CHECK_FALSE(value.to_u64(whole));
  value = value.next();
  CHECK_FALSE(value.to_u64(whole));
  CHECK((value.to_i64(number) && number == -1));
  value = value.next();
  CHECK_FALSE(value.to_i64(number));
}
