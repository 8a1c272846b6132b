#include <catch2/catch_amalgamated.hpp>

#include "feed/log_server.hpp"
#include "feed/publish.hpp"
#include "iggy/checksum.hpp"

using namespace tidemark;
using namespace tidemark::feed;

namespace {

struct Fixture {
  test::LogServer server;
  test::Drive drive{server};
  Partitions partitions;
  Random random{{1, 2, 3, 4}};

  PublishArgs args(int records, std::size_t size = 3) const {
    PublishArgs made;
    made.stream = "s", made.topic = "t";
    for (int n = 0; n < records; ++n)
      made.records.push_back({bytes::Buffer(size, static_cast<std::uint8_t>(n)), {}});
    return made;
  }
  void run(Publish& publish) {
    drive.run(publish, [&] { return publish.done(); });
    REQUIRE(publish.done());
  }
  std::size_t sends() const {
    return static_cast<std::size_t>(
        std::count_if(server.requests.begin(), server.requests.end(),
                      [](const Request& request) { return request.command == 101; }));
  }
  // The next `times` sends are lost with their connection; `stored` says whether the server has them all the
  // same.
  void lose_sends(int times, bool stored, bool timed_out = false) {
    drive.fault = [this, times, stored,
                   timed_out](const Request& request) mutable -> std::optional<test::Answer> {
      if (request.command != 101 || times-- <= 0) return std::nullopt;
      if (stored) server.answer(request);
      return test::Answer{.outcome = Outcome::unknown, .payload = {}, .timed_out = timed_out};
    };
  }
};

}  // namespace

TEST_CASE("records are stored in one request and confirmed with their offset") {
  Fixture f;
  f.server.create_topic(1);
  f.server.partition(0).append({9}, 5);
  Publish publish(f.args(3), f.partitions, f.random);
  f.run(publish);
  CHECK_FALSE(publish.failure());
  REQUIRE(publish.confirmations().size() == 1);
  CHECK(publish.confirmations()[0].base_offset == 1);
  CHECK(f.server.partition(0).records.size() == 4);
  CHECK(f.server.partition(0).records[1].id != f.server.partition(0).records[2].id);
  CHECK(f.server.partition(0).records[1].origin == f.drive.now.wall_micros);
}

TEST_CASE("the partition is the one given, the key's, or the next in turn; the topic is asked for once") {
  Fixture f;
  f.server.create_topic(3);
  for (int n = 0; n < 6; ++n) {
    Publish publish(f.args(1), f.partitions, f.random);
    f.run(publish);
  }
  for (std::uint32_t id : {0U, 1U, 2U}) CHECK(f.server.partition(id).records.size() == 2);
  auto keyed = f.args(1);
  const std::string key = "user-42";
  keyed.partition = bytes::Buffer(key.begin(), key.end());
  Publish by_key(keyed, f.partitions, f.random);
  f.run(by_key);
  CHECK(f.server.partition(2).records.size() == 3);
  auto given = f.args(1);
  given.partition = std::uint32_t{1};
  Publish explicitly(given, f.partitions, f.random);
  f.run(explicitly);
  CHECK(f.server.partition(1).records.size() == 3);
  CHECK(std::count_if(f.server.requests.begin(), f.server.requests.end(),
                      [](const Request& request) { return request.command == 300; }) == 1);
}

TEST_CASE("after a lost session what is found by its id is not sent again") {
  Fixture f;
  f.server.create_topic(1);
  f.server.partition(0).append({9}, 5);
  f.lose_sends(1, true);
  Publish publish(f.args(3), f.partitions, f.random);
  f.run(publish);
  CHECK_FALSE(publish.failure());
  CHECK(publish.confirmations().empty());
  CHECK(f.sends() == 1);
  CHECK(f.server.partition(0).records.size() == 4);
}

TEST_CASE("after a lost session what is not found is sent again under the same ids") {
  Fixture f;
  f.server.create_topic(1);
  bytes::Buffer first;
  f.lose_sends(2, false);
  f.drive.before_answer = [&](const Request& request) {
    if (request.command != 101) return;
    if (first.empty()) first = request.body;
    CHECK(first == request.body);
  };
  Publish publish(f.args(3), f.partitions, f.random);
  f.run(publish);
  CHECK_FALSE(publish.failure());
  CHECK(f.server.partition(0).records.size() == 3);
  CHECK(f.drive.waits == std::vector<std::uint64_t>{250'000, 500'000});
}

TEST_CASE("a send that timed out is looked for, never repeated, and reported unconfirmed") {
  Fixture f;
  f.server.create_topic(1);
  f.lose_sends(1, false, true);
  Publish publish(f.args(3), f.partitions, f.random);
  f.run(publish);
  REQUIRE(publish.failure());
  CHECK(publish.failure()->kind == FailureKind::publish);
  CHECK(publish.failure()->committed == 0);
  CHECK(publish.failure()->unconfirmed == 3);
  CHECK(f.sends() == 0);
}

TEST_CASE("after a confirmation that cannot be read the log decides, whether the records are there or not") {
  for (const bool is_stored : {true, false}) {
    for (const auto outcome : {Outcome::ok, Outcome::malformed}) {
      Fixture f;
      f.server.create_topic(1);
      int times = 1;
      f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
        if (request.command != 101 || times-- <= 0) return std::nullopt;
        if (is_stored) f.server.answer(request);
        bytes::Buffer payload{1, 0, 0, 0, 7};
        return test::Answer{.outcome = outcome, .payload = payload};
      };
      Publish publish(f.args(3), f.partitions, f.random);
      f.run(publish);
      CHECK_FALSE(publish.failure());
      CHECK(f.server.partition(0).records.size() == 3);
    }
  }
}

TEST_CASE("a read-back that never succeeds leaves the outcome unknown") {
  Fixture f;
  f.server.create_topic(1);
  f.drive.fault = [](const Request& request) -> std::optional<test::Answer> {
    if (request.command == 300) return std::nullopt;
    return test::Answer{.outcome = Outcome::unknown, .payload = {}};
  };
  Publish publish(f.args(2), f.partitions, f.random);
  f.run(publish);
  REQUIRE(publish.failure());
  CHECK(publish.failure()->kind == FailureKind::publish);
  CHECK(publish.failure()->unconfirmed == 2);
  CHECK(f.drive.waits == std::vector<std::uint64_t>{250'000, 500'000, 1'000'000});
}

TEST_CASE("an empty confirmation is success") {
  Fixture f;
  f.server.create_topic(1);
  f.drive.fault = [](const Request& request) -> std::optional<test::Answer> {
    if (request.command != 101) return std::nullopt;
    return test::Answer{.payload = {}};
  };
  Publish publish(f.args(2), f.partitions, f.random);
  f.run(publish);
  CHECK_FALSE(publish.failure());
  CHECK(publish.confirmations().empty());
}

TEST_CASE("more than one request can take is split, and what was stored before a refusal is told") {
  Fixture f;
  f.server.create_topic(1);
  int sends = 0;
  f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
    if (request.command == 101) CHECK(request.body.size() < 16 * 1024 * 1024);
    if (request.command == 101 && ++sends == 3)
      return test::Answer{.outcome = Outcome::refused, .code = 41, .payload = {}};
    return std::nullopt;
  };
  Publish publish(f.args(6, 7'000'000), f.partitions, f.random);
  f.run(publish);
  REQUIRE(publish.failure());
  CHECK(publish.failure()->kind == FailureKind::publish);
  CHECK(publish.failure()->code == 41);
  CHECK(publish.failure()->committed == 4);
  CHECK(publish.failure()->unconfirmed == 0);
}

TEST_CASE("a record that no request can take is refused here, naming the limit, and nothing is sent") {
  Fixture f;
  f.server.create_topic(1);
  auto args = f.args(1);
  args.records.push_back({bytes::Buffer(17'000'000), {}});
  Publish publish(args, f.partitions, f.random);
  CHECK(publish.done());
  REQUIRE(publish.failure());
  CHECK(publish.failure()->kind == FailureKind::invalid);
  CHECK(publish.failure()->error.rule == Rule::message_too_large);
  CHECK(publish.failure()->error.path() == "records.1, more than 16773120 bytes");
}

TEST_CASE("two publishes to one partition have one send unresolved") {
  Fixture f;
  f.server.create_topic(1);
  Publish first(f.args(1), f.partitions, f.random);
  f.drive.run(first, [&] { return !f.server.requests.empty(); });  // the topic is known
  const auto sent = first.poll_request(f.drive.now);
  REQUIRE(sent);
  CHECK(sent->command == 101);
  Publish second(f.args(1), f.partitions, f.random);
  CHECK_FALSE(second.poll_request(f.drive.now));
  const auto answer = f.server.answer(*sent);
  Reply reply;
  reply.payload = answer.payload;
  first.on_reply(sent->tag, reply, f.drive.now);
  CHECK(first.done());
  CHECK(second.poll_request(f.drive.now)->command == 101);
}

TEST_CASE("a publish that is dropped while it waits frees its place") {
  Fixture f;
  f.server.create_topic(1);
  Publish first(f.args(1), f.partitions, f.random);
  f.drive.run(first, [&] { return !f.server.requests.empty(); });
  REQUIRE(first.poll_request(f.drive.now));
  auto second = std::make_unique<Publish>(f.args(1), f.partitions, f.random);
  CHECK_FALSE(second->poll_request(f.drive.now));
  Publish third(f.args(1), f.partitions, f.random);
  CHECK_FALSE(third.poll_request(f.drive.now));
  second.reset();
  first.cancel(f.drive.now);
  CHECK(first.failure()->kind == FailureKind::cancelled);
  CHECK(first.failure()->unconfirmed == 1);
  CHECK(third.poll_request(f.drive.now));
}

TEST_CASE("a partition that is gone makes the topic be asked for again") {
  Fixture f;
  f.server.create_topic(3);
  f.partitions.next_round(Partitions::key("s", "t"));
  f.partitions.next_round(Partitions::key("s", "t"));
  Publish publish(f.args(1), f.partitions, f.random);
  f.drive.run(publish, [&] { return !f.server.requests.empty(); });
  f.server.topic->partitions.erase(2), f.server.topic->partitions.erase(1);
  f.run(publish);
  CHECK_FALSE(publish.failure());
  CHECK(f.server.partition(0).records.size() == 1);
}

TEST_CASE("a server of 0.12.2 is sent the partition's context, and the new one after a recreation") {
  Fixture f;
  f.server.dialect = f.partitions.dialect = iggy::Dialect::v12;
  f.server.create_topic(2);
  auto to_second = f.args(2);
  to_second.partition = std::uint32_t{1};
  Publish first(to_second, f.partitions, f.random);
  f.run(first);
  CHECK_FALSE(first.failure());
  CHECK(f.server.requests.back().context.incarnation == f.server.partition(1).created_at);
  CHECK(f.server.requests.back().context.metadata_op == test::LogServer::metadata_op);
  CHECK(f.server.partition(1).records.size() == 2);

  f.server.create_topic(2);
  Publish second(to_second, f.partitions, f.random);
  f.run(second);
  CHECK_FALSE(second.failure());
  CHECK(f.server.partition(1).records.size() == 2);
}

TEST_CASE("a read-back on a server of 0.12.2 finds what a lost send has stored") {
  Fixture f;
  f.server.dialect = f.partitions.dialect = iggy::Dialect::v12;
  f.server.create_topic(1);
  f.lose_sends(1, true);
  Publish publish(f.args(3), f.partitions, f.random);
  f.run(publish);
  CHECK_FALSE(publish.failure());
  CHECK(f.server.partition(0).records.size() == 3);
}
