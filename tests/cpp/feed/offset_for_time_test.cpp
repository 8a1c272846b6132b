#include "feed/offset_for_time.hpp"

#include <catch2/catch_amalgamated.hpp>

#include "feed/log_server.hpp"

using namespace tidemark;
using namespace tidemark::feed;

namespace {

struct Fixture {
  test::LogServer server;
  test::Drive drive{server};

  void run(OffsetForTime& lookup) {
    drive.run(lookup, [&] { return lookup.done(); });
    REQUIRE(lookup.done());
  }
  std::uint64_t next(std::uint64_t micros, std::uint32_t partition = 0) {
    OffsetForTime lookup("s", "t", micros);
    run(lookup);
    REQUIRE_FALSE(lookup.failure());
    return lookup.positions().at(partition).next;
  }
};

}  // namespace

TEST_CASE("a time is found in every partition: its first record at or after it, or the partition's end") {
  Fixture f;
  f.server.create_topic(2);
  for (std::uint64_t time : {10U, 20U, 30U}) f.server.partition(0).append({1}, time);
  f.server.partition(1).append({1}, 15);
  CHECK(f.next(0) == 0);
  CHECK(f.next(20) == 1);
  CHECK(f.next(21) == 2);
  CHECK(f.next(31) == 3);
  CHECK(f.next(15, 1) == 0);
  CHECK(f.next(16, 1) == 0);  // head 0 tells no empty partition from one old record: that record comes again
}

TEST_CASE("a time in trimmed history is the earliest record left") {
  Fixture f;
  f.server.create_topic(1);
  for (std::uint64_t time : {10U, 20U, 30U}) f.server.partition(0).append({1}, time);
  f.server.partition(0).trim_below(2);
  CHECK(f.next(10) == 2);
}

TEST_CASE("an empty partition starts at its beginning") {
  Fixture f;
  f.server.create_topic(1);
  CHECK(f.next(10) == 0);
}

TEST_CASE("more partitions than may be in flight are all asked, and no more at once") {
  Fixture f;
  f.server.create_topic(40);
  for (std::uint32_t id = 0; id < 40; ++id)
    for (std::uint64_t time : {10U, 20U}) f.server.partition(id).append({1}, time + id);
  OffsetForTime lookup("s", "t", 20);
  f.run(lookup);
  REQUIRE(lookup.positions().size() == 40);
  for (const auto& position : lookup.positions()) CHECK(position.next == (position.partition < 10 ? 1U : 0U));
}

TEST_CASE("a missing topic and a lost connection are failures with their kind") {
  Fixture f;
  OffsetForTime missing("s", "t", 1);
  f.run(missing);
  REQUIRE(missing.failure());
  CHECK(missing.failure()->code == 2010);

  f.server.create_topic(1);
  f.drive.fault = [](const Request& request) -> std::optional<test::Answer> {
    if (request.command != 100) return std::nullopt;
    return test::Answer{.outcome = Outcome::unknown, .payload = {}};
  };
  OffsetForTime lost("s", "t", 1);
  f.run(lost);
  REQUIRE(lost.failure());
  CHECK(lost.failure()->kind == FailureKind::transport);
}

TEST_CASE("a poll reply cut short is a failure, not a position") {
  Fixture f;
  f.server.create_topic(1);
  f.server.partition(0).append({1}, 10);
  f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
    if (request.command != 100) return std::nullopt;
    auto answer = f.server.answer(request);
    answer.payload.resize(answer.payload.size() - 1);
    return answer;
  };
  OffsetForTime lookup("s", "t", 1);
  f.run(lookup);
  CHECK(lookup.failure());
}

TEST_CASE("on a server of 0.12.2 a partition that was made anew meanwhile is looked up again") {
  Fixture f;
  f.server.dialect = iggy::Dialect::v12;
  f.server.create_topic(2);
  f.server.partition(1).append({1}, 15);
  bool recreated = false;
  f.drive.before_answer = [&](const Request& request) {
    if (request.command != 100 || std::exchange(recreated, true)) return;
    f.server.create_topic(1);
    for (std::uint64_t time : {10U, 20U, 30U}) f.server.partition(0).append({1}, time);
  };
  OffsetForTime lookup("s", "t", 20, iggy::Dialect::v12);
  f.run(lookup);
  REQUIRE_FALSE(lookup.failure());
  REQUIRE(lookup.positions().size() == 1);
  CHECK(lookup.positions()[0].next == 1);
}

TEST_CASE("a look-up that was made before the session begins anew when the server speaks otherwise") {
  Fixture f;
  f.server.dialect = iggy::Dialect::v12;
  f.server.create_topic(1);
  f.server.partition(0).append({1}, 15);
  OffsetForTime lookup("s", "t", 0);
  const auto early = lookup.poll_request(f.drive.now);
  REQUIRE(early);
  lookup.new_session(iggy::Dialect::v12);
  Reply reply;
  lookup.on_reply(early->tag, reply, f.drive.now);
  CHECK_FALSE(lookup.done());
  f.run(lookup);
  REQUIRE_FALSE(lookup.failure());
  CHECK(lookup.positions().size() == 1);
}
