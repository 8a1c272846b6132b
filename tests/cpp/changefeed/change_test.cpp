#include "changefeed/change.hpp"

#include <algorithm>

#include "changefeed/support.hpp"

namespace tidemark::changefeed::test {
namespace {

Outline with_images(Op op, bool before, bool after) { return {op, false, before, after, 0}; }

TEST_CASE("a created document needs no before and a removed one no after") {
  CHECK(admit(with_images(Op::insert, false, true)).complete);
  CHECK(admit(with_images(Op::remove, true, false)).complete);
}

TEST_CASE("every other missing image makes a change incomplete") {
  for (const auto op : {Op::update, Op::replace}) {
    CHECK(admit(with_images(op, true, true)).complete);
    CHECK_FALSE(admit(with_images(op, false, true)).complete);
    CHECK_FALSE(admit(with_images(op, true, false)).complete);
  }
  CHECK_FALSE(admit(with_images(Op::insert, true, false)).complete);
  CHECK_FALSE(admit(with_images(Op::remove, false, true)).complete);
}

TEST_CASE("a system change is an outline, and proves nothing by its content") {
  for (const auto op : {Op::insert, Op::update, Op::replace, Op::remove}) {
    const auto admission = admit({op, true, true, true, 0});
    CHECK(admission.outline_only);
    CHECK_FALSE(admission.complete);
  }
}

TEST_CASE("only updates have names of changed fields") {
  CHECK(admit(with_images(Op::update, true, true)).field_names);
  for (const auto op : {Op::insert, Op::replace, Op::remove, Op::advance})
    CHECK_FALSE(admit(with_images(op, true, true)).field_names);
}

TEST_CASE("a range that landed has no images to miss") {
  CHECK(admit(with_images(Op::advance, false, false)).complete);
}

TEST_CASE("sets are equal whatever the order and however often a collection was added") {
  CHECK(watching({"a", "b"}) == watching({"b", "a", "b"}));
  CHECK_FALSE(watching({"a"}) == watching({"a", "b"}));
  WatchSet system;
  system.add({"realm", "database", "a", true});
  CHECK_FALSE(watching({"a"}) == system);
}

TEST_CASE("the wait doubles from 100 ms to 5 s") {
  const Backoff backoff;
  std::vector<std::uint64_t> waits;
  for (std::uint32_t attempt = 1; attempt <= 8; ++attempt) waits.push_back(backoff.delay(attempt) / 1000);
  CHECK(waits == std::vector<std::uint64_t>{100, 200, 400, 800, 1600, 3200, 5000, 5000});
  CHECK(backoff.delay(UINT32_MAX) == 5'000'000);
}

// Row 8: consumers that one restart hits do not come back together.
TEST_CASE("jitter spreads a thousand consumers over the whole wait") {
  const Backoff backoff;
  std::vector<std::uint32_t> tenths(10);
  for (std::uint64_t client = 0; client < 1000; ++client) {
    Random random(Random::Seed{client + 1, 2, 3, 4});
    for (int drawn = 0; drawn < 8; ++drawn) random.next();
    const auto wait = backoff.jittered(7, random);
    REQUIRE(wait <= 5'000'000);
    ++tenths[static_cast<std::size_t>(std::min<std::uint64_t>(wait / 500'000, 9))];
  }
  for (const auto count : tenths) {
    CHECK(count > 50);
    CHECK(count < 150);
  }
}

}  // namespace
}  // namespace tidemark::changefeed::test
