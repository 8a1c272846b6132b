#include <catch2/catch_amalgamated.hpp>

#include "feed/log_server.hpp"
#include "feed/reader.hpp"

using namespace tidemark;
using namespace tidemark::feed;

namespace {

constexpr std::uint64_t second = 1'000'000;

struct Fixture {
  test::LogServer server;
  test::Drive drive{server};
  agdx::NameTable names;
  ReaderOptions options{
      .stream = "s", .topic = "t", .mode = ReaderMode::durable, .content = Content::records, .identity = {}};
  std::unique_ptr<Reader> reader;

  void open() { reader = std::make_unique<Reader>(options, names); }
  void append(std::uint32_t partition, int count) {
    for (int n = 0; n < count; ++n) server.partition(partition).append({1, 2, 3}, ++server.clock);
  }
  // Nothing when the read did not end.
  std::optional<ReadOutcome> read(std::uint64_t wait = 0, std::size_t steps = 100'000) {
    REQUIRE(reader->read(wait, drive.now));
    return go_on(steps);
  }
  std::optional<ReadOutcome> go_on(std::size_t steps = 100'000) {
    std::optional<ReadOutcome> outcome;
    drive.run(*reader, [&] { return (outcome = reader->poll_outcome()).has_value(); }, steps);
    return outcome;
  }
  const ReaderBatch& batch(std::uint64_t wait = 0) {
    REQUIRE(read(wait) == ReadOutcome::batch);
    return reader->batch();
  }
  std::vector<std::uint64_t> offsets() const {
    const auto& records = reader->batch().records;
    return {records.offset.data(), records.offset.data() + records.count};
  }
  std::uint64_t next(std::uint32_t partition) const {
    for (const auto& position : reader->positions())
      if (position.partition == partition) return position.next;
    return UINT64_MAX - 7;
  }
};

Positions at(std::uint64_t next) { return {{0, next, false}}; }

}  // namespace

TEST_CASE("a first record above the asked offset is a gap before its records, once") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 451);
  f.server.partition(0).trim_below(400);
  f.options.from = at(100);
  f.open();
  const auto& batch = f.batch();
  CHECK(batch.gaps == std::vector<Gap>{{0, 100, 400, GapReason::trimmed}});
  CHECK(f.offsets().front() == 400);
  CHECK(f.next(0) == 451);
  f.append(0, 1);
  CHECK(f.batch().gaps.empty());
  CHECK(f.offsets() == std::vector<std::uint64_t>{451});
}

TEST_CASE("a dense log has no gap and a reader from the beginning of a trimmed log asks for nothing lost") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 200);
  f.options.from = at(100);
  f.open();
  CHECK(f.batch().gaps.empty());
  CHECK(f.reader->batch().records.count == 100);
  f.server.partition(0).trim_below(150);
  f.options.from = Start::beginning;
  f.open();
  CHECK(f.batch().gaps.empty());
  CHECK(f.offsets().front() == 150);
}

TEST_CASE("after a gap a reader may go on from now") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 451);
  f.server.partition(0).trim_below(400);
  f.options.from = at(100);
  f.options.on_history_lost = OnHistoryLost::now;
  f.open();
  CHECK(f.batch().gaps == std::vector<Gap>{{0, 100, 400, GapReason::trimmed}});
  CHECK(f.reader->batch().records.count == 0);
  CHECK(f.next(0) == 451);
}

TEST_CASE("an offset missing between two records is a gap") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 5);
  f.server.partition(0).append({}, ++f.server.clock, 9);
  f.open();
  CHECK(f.batch().gaps == std::vector<Gap>{{0, 5, 9, GapReason::missing_inside}});
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 9});
}

TEST_CASE("a partition trimmed whole is a gap without a first record, and reading goes on behind the head") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 20);
  f.options.from = at(10);
  f.open();
  f.server.partition(0).trim_below(20);
  CHECK(f.batch().gaps == std::vector<Gap>{{0, 10, std::nullopt, GapReason::trimmed_whole}});
  CHECK(f.next(0) == 20);
  CHECK(f.batch().gaps.empty());
  f.append(0, 1);
  CHECK(f.batch().gaps.empty());
  CHECK(f.offsets() == std::vector<std::uint64_t>{20});
}

TEST_CASE("an empty partition proves nothing") {
  Fixture f;
  f.server.create_topic(1);
  f.options.from = at(10);
  f.open();
  CHECK(f.batch().gaps.empty());
  CHECK(f.next(0) == 10);
  f.options.from = at(0);
  f.open();
  CHECK(f.batch().gaps.empty());
  CHECK(f.next(0) == 0);
}

TEST_CASE("a rewind counts when a second poll a second later and the topic record say the same") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 30);
  f.open();
  f.batch();
  f.server.partition(0).purge();
  f.append(0, 3);
  const auto began = f.drive.now.mono_micros;
  CHECK(f.batch().gaps == std::vector<Gap>{{0, 30, 0, GapReason::rewound}});
  CHECK(f.drive.now.mono_micros - began >= second);
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(f.next(0) == 3);
}

TEST_CASE("a purged partition with one record, whose head reads like an empty one, is a rewind") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 30);
  f.open();
  f.batch();
  f.server.partition(0).purge();
  f.append(0, 1);
  CHECK(f.batch().gaps == std::vector<Gap>{{0, 30, 0, GapReason::rewound}});
  CHECK(f.offsets() == std::vector<std::uint64_t>{0});
}

TEST_CASE("a node that lags for less than a second is no rewind") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 30);
  f.open();
  f.batch();
  f.server.partition(0).shown_head = 12;
  int polls = 0;
  f.drive.before_answer = [&](const Request& request) {
    if (request.command == 100 && ++polls == 2) f.server.partition(0).shown_head.reset();
  };
  CHECK(f.batch().gaps.empty());
  CHECK(f.next(0) == 30);
}

TEST_CASE("what was seen on one connection is not held against the next one") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 30);
  f.open();
  f.batch();
  f.server.partition(0).shown_head = 12;
  CHECK_FALSE(f.read(0, 4).has_value());  // the suspicion is there, its second is not over
  f.drive.pass(2 * second);
  f.reader->new_session(iggy::Dialect::s11);
  const auto since = f.drive.now.mono_micros;
  f.server.partition(0).shown_head.reset();
  f.drive.forget_requests();
  f.reader->cancel_read(f.drive.now);
  f.reader->poll_outcome();
  CHECK(f.batch().gaps.empty());
  CHECK(f.drive.now.mono_micros == since);
}

TEST_CASE("a recreated topic is a gap of every partition, never records under old offsets") {
  Fixture f;
  f.server.create_topic(2);
  f.append(0, 5), f.append(1, 2);
  f.open();
  f.batch();
  f.server.create_topic(1);
  f.append(0, 9);
  const auto& batch = f.batch();
  CHECK(batch.gaps ==
        std::vector<Gap>{{1, 2, std::nullopt, GapReason::recreated}, {0, 5, 0, GapReason::recreated}});
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(batch.identity->topic_id == 2);
  CHECK(f.reader->positions() == Positions{{0, 9, false}});
}

TEST_CASE("a stored identity that is not the topic's is history lost") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 5);
  f.open();
  const auto identity = f.batch().identity;
  f.server.create_topic(1);
  f.append(0, 9);
  f.options.from = at(5);
  f.options.identity = identity;
  f.open();
  CHECK(f.batch().gaps == std::vector<Gap>{{0, 5, 0, GapReason::recreated}});
  CHECK(f.reader->batch().records.count == 9);
}

TEST_CASE("a partition that is removed is a gap, and one made again under its number starts anew") {
  Fixture f;
  f.server.create_topic(2);
  f.append(0, 5), f.append(1, 2);
  f.open();
  f.batch();
  f.server.topic->partitions.erase(1);
  f.drive.pass(6 * second);
  CHECK(f.batch().gaps == std::vector<Gap>{{1, 2, std::nullopt, GapReason::partition_removed}});
  f.server.add_partitions(1);
  f.append(1, 3);
  f.drive.pass(6 * second);
  CHECK(f.batch().gaps.empty());
  CHECK(f.reader->batch().records.count == 3);
  f.server.topic->partitions.erase(1);
  f.server.add_partitions(1);
  f.append(1, 1);
  f.drive.pass(6 * second);
  CHECK(f.batch().gaps == std::vector<Gap>{{1, 3, 0, GapReason::recreated}});
  CHECK(f.offsets() == std::vector<std::uint64_t>{0});
}

TEST_CASE("a new partition is read from its first record while following") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 1);
  f.options.from = Start::now;
  f.open();
  CHECK(f.batch().records.count == 0);
  CHECK(f.next(0) == 1);
  f.server.add_partitions(1);
  f.append(1, 2);
  CHECK(f.batch(second / 10).records.count == 2);
  CHECK(f.drive.waits.size() >= 40);  // found when the topic was read again
}

TEST_CASE("a missing topic is waited for, and said") {
  Fixture f;
  f.open();
  CHECK(f.batch().records.count == 0);
  CHECK(f.reader->batch().caught_up);
  CHECK(f.reader->poll_state() == ReaderState::waiting_for_source);
  f.server.clock = 5;
  REQUIRE(f.reader->read(second, f.drive.now));
  int asked = 0;
  f.drive.before_answer = [&](const Request&) {
    if (++asked == 4) f.server.create_topic(1), f.append(0, 2);
  };
  CHECK(f.go_on() == ReadOutcome::batch);
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1});
  CHECK(f.reader->poll_state() == ReaderState::idle);
}

TEST_CASE("a failed read moves no position and its records come again") {
  for (const auto mode : {ReaderMode::durable, ReaderMode::watch}) {
    Fixture f;
    f.server.create_topic(3);
    for (std::uint32_t id : {0U, 1U, 2U}) f.append(id, 4);
    f.options.mode = mode;
    f.open();
    int polls = 0;
    f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
      if (request.command == 100 && ++polls == 3)
        return test::Answer{.outcome = Outcome::refused, .code = 41, .payload = {}};
      return std::nullopt;
    };
    CHECK(f.read() == ReadOutcome::failure);
    CHECK(f.reader->failure().kind == FailureKind::command);
    CHECK(f.reader->failure().code == 41);
    CHECK(f.reader->positions().empty());
    f.drive.fault = nullptr;
    f.drive.forget_requests();
    CHECK(f.batch().records.count == 12);
  }
}

TEST_CASE("a cancelled read moves no position, and its late answers are ignored") {
  Fixture f;
  f.server.create_topic(2);
  f.append(0, 4), f.append(1, 4);
  f.open();
  CHECK_FALSE(f.read(0, 3).has_value());
  f.reader->cancel_read(f.drive.now);
  CHECK(f.reader->poll_outcome() == ReadOutcome::cancelled);
  CHECK_FALSE(f.reader->poll_outcome().has_value());
  CHECK(f.reader->positions().empty());
  CHECK(f.batch().records.count == 8);  // the cancelled read's answers come first
}

TEST_CASE("a connection lost under a request is tried five times with growing pauses") {
  for (const auto mode : {ReaderMode::durable, ReaderMode::watch}) {
    Fixture f;
    f.server.create_topic(1);
    f.append(0, 1);
    f.options.mode = mode;
    f.open();
    int failures = 4;
    f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
      if (request.command == 100 && failures-- > 0)
        return test::Answer{.outcome = Outcome::unknown, .payload = {}};
      return std::nullopt;
    };
    CHECK(f.batch().records.count == 1);
    CHECK(f.drive.waits == std::vector<std::uint64_t>{50'000, 100'000, 150'000, 200'000});
    f.append(0, 1);
    failures = 5;
    CHECK(f.read() == ReadOutcome::failure);
    CHECK(f.reader->failure().kind == FailureKind::transport);
    CHECK(f.next(0) == 1);
  }
}

TEST_CASE("offsets near the top of their range are read, and a partition ends at the last one") {
  for (const auto mode : {ReaderMode::durable, ReaderMode::watch}) {
    for (const std::uint64_t top : {std::uint64_t{1} << 53 | 1U, std::uint64_t{1} << 63, UINT64_MAX}) {
      Fixture f;
      f.server.create_topic(1);
      f.server.partition(0).append({1}, 5, top - 1);
      f.server.partition(0).append({2}, 5);
      f.server.partition(0).shown_head = top;
      f.options.mode = mode;
      f.options.from = at(top - 1);
      f.open();
      CHECK(f.batch().gaps.empty());
      CHECK(f.offsets() == std::vector<std::uint64_t>{top - 1, top});
      const bool last = top == UINT64_MAX;
      CHECK(f.reader->positions() == Positions{{0, last ? top : top + 1, last}});
      CHECK(f.batch().records.count == 0);
    }
  }
}

TEST_CASE("a durable batch ends at its cap of bytes and the next one goes on") {
  Fixture f;
  f.server.create_topic(2);
  f.append(0, 50), f.append(1, 50);
  f.options.byte_cap = 51 * 20;
  f.options.batch = 7;
  f.open();
  std::vector<std::uint64_t> seen(2);
  for (int round = 0; round < 10; ++round) {
    const auto& batch = f.batch();
    if (batch.records.count == 0) break;
    CHECK(batch.records.count <= 20);
    for (std::size_t n = 0; n < batch.records.count; ++n)
      CHECK(batch.records.offset[n] == seen[batch.records.partition[n]]++);
  }
  CHECK(seen == std::vector<std::uint64_t>{50, 50});
  CHECK(f.reader->batch().caught_up);
}

TEST_CASE("a partition's records keep their order where the server's clock went back") {
  Fixture f;
  f.server.create_topic(2);
  f.server.partition(0).append({1}, 100);
  f.server.partition(0).append({2}, 50);
  f.server.partition(1).append({3}, 70);
  f.open();
  f.batch();
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 0, 1});
  CHECK(f.reader->batch().records.partition[0] == 1);
}

TEST_CASE("record columns carry payload, header block, id and both times") {
  Fixture f;
  f.server.create_topic(1);
  f.server.partition(0).records.push_back({0, 70, 60, {5, 6}, {1, 2, 3}, {9, 9}});
  f.server.partition(0).records.push_back({1, 80, 65, {7, 8}, {}, {8}});
  f.server.partition(0).next_offset = 2;
  f.open();
  const auto& records = f.batch().records;
  REQUIRE(records.count == 2);
  CHECK(records.timestamp[1] == 80);
  CHECK(records.origin_timestamp[0] == 60);
  CHECK(records.id[16] == 7);
  CHECK(records.id[24] == 8);
  const std::vector<std::uint8_t> block(records.bytes.data(), records.bytes.data() + records.bytes_used());
  CHECK(block == std::vector<std::uint8_t>{1, 2, 3, 9, 9, 8});
  CHECK(std::vector<std::uint32_t>(records.payload_start.data(), records.payload_start.data() + 3) ==
        std::vector<std::uint32_t>{0, 5, 6});
  CHECK(std::vector<std::uint32_t>(records.headers_start.data(), records.headers_start.data() + 2) ==
        std::vector<std::uint32_t>{3, 5});
}

TEST_CASE("partitions over the cap are reported, not dropped in silence") {
  for (const auto mode : {ReaderMode::durable, ReaderMode::watch}) {
    Fixture f;
    f.server.create_topic(1026);
    f.options.mode = mode;
    f.open();
    CHECK(f.batch().unread_partitions == 2);
    CHECK(f.reader->positions().size() == 1024);
  }
}

TEST_CASE("a following read waits at its interval and ends with the first record") {
  Fixture f;
  f.server.create_topic(1);
  f.open();
  REQUIRE(f.reader->read(second / 4, f.drive.now));
  int polls = 0;
  f.drive.before_answer = [&](const Request& request) {
    if (request.command == 100 && ++polls == 5) f.append(0, 1);
  };
  CHECK(f.go_on() == ReadOutcome::batch);
  CHECK(f.offsets() == std::vector<std::uint64_t>{0});
  CHECK(f.drive.waits == std::vector<std::uint64_t>(4, second / 4));
}

TEST_CASE("a reply that breaks its checksums fails the read and moves nothing") {
  Fixture f;
  f.server.create_topic(1);
  f.append(0, 3);
  f.open();
  f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
    auto answer = f.server.answer(request);
    if (request.command == 100) answer.payload.back() ^= 1;
    return answer;
  };
  CHECK(f.read() == ReadOutcome::failure);
  CHECK(f.reader->failure().kind == FailureKind::codec);
  CHECK(f.reader->positions().empty());
}

TEST_CASE("on a server of 0.12.2 either mode reads, resumes, and says what was trimmed or recreated") {
  for (const auto mode : {ReaderMode::durable, ReaderMode::watch}) {
    Fixture f;
    f.options.mode = mode;
    f.server.dialect = iggy::Dialect::v12;
    f.server.create_topic(2);
    f.append(0, 5), f.append(1, 3);
    f.options.from = Start::beginning;
    f.open();
    f.reader->new_session(iggy::Dialect::v12);
    CHECK(f.batch().records.count == 8);
    f.append(1, 2);
    CHECK(f.batch().records.count == 2);
    CHECK(f.next(1) == 5);
    if (mode != ReaderMode::durable) continue;
    f.append(0, 10);
    f.server.partition(0).trim_below(9);
    CHECK(f.batch().gaps == std::vector<Gap>{{0, 5, 9, GapReason::trimmed}});
    // Another life of the partitions: the old context is refused, and the topic is read again.
    f.server.create_topic(2);
    f.append(0, 1);
    f.drive.now.mono_micros += 60 * second;
    const auto& batch = f.batch();
    CHECK(batch.gaps.size() == 2);
    CHECK(batch.records.count == 1);
  }
}

namespace {

// A reader on a server of 0.12.2 that has read everything there is.
struct Deferring : Fixture {
  explicit Deferring(std::uint32_t partitions) {
    server.dialect = iggy::Dialect::v12;
    server.create_topic(partitions);
    for (std::uint32_t partition = 0; partition < partitions; ++partition) append(partition, 2);
    options.from = Start::beginning;
    open();
    reader->new_session(iggy::Dialect::v12);
    CHECK(batch().records.count == 2 * partitions);
    server.requests.clear();
  }
  std::size_t asked(std::uint32_t command) const {
    return static_cast<std::size_t>(
        std::count_if(server.requests.begin(), server.requests.end(),
                      [command](const Request& request) { return request.command == command; }));
  }
};

}  // namespace

TEST_CASE("on a server of 0.12.2 a reader that is caught up lets the server wait for records") {
  for (const std::uint32_t partitions : {1U, 3U}) {
    Deferring f(partitions);
    const auto command = partitions == 1 ? 106U : 109U;
    int waits = 0;
    f.server.meanwhile = [&] {
      f.drive.pass(5 * second);
      if (++waits == 4) f.append(partitions - 1, 3);
    };
    const auto& batch = f.batch(200'000);
    CHECK(batch.records.count == 3);
    CHECK(batch.caught_up);
    CHECK(f.next(partitions - 1) == 5);
    CHECK(waits == 4);
    CHECK(f.asked(command) == 4);
    // One look at each partition before the first wait, none in between; the topic is looked at each time.
    CHECK(f.asked(100) == partitions);
    CHECK(f.asked(300) >= 4);
    CHECK(f.drive.waits.empty());
  }
}

TEST_CASE("partitions that come while the server waits are read, and what is recreated is told") {
  Deferring f(2);
  int waits = 0;
  f.server.meanwhile = [&] {
    f.drive.pass(5 * second);
    if (++waits == 1) f.server.add_partitions(1), f.append(2, 4);
  };
  CHECK(f.batch(200'000).records.count == 4);
  f.server.meanwhile = [&] {
    f.drive.pass(1 * second);
    f.server.create_topic(2);
    f.append(0, 1);
  };
  std::size_t gaps = 0, records = 0;
  while (records == 0) {
    const auto& batch = f.batch(200'000);
    gaps += batch.gaps.size();
    records += batch.records.count;
  }
  CHECK(gaps == 3);
  CHECK(records == 1);
}

TEST_CASE("a server that refuses to wait, or does not wait, is asked at the interval") {
  for (const std::uint32_t refusal : {90U, 3U, 0U}) {
    Deferring f(2);
    f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
      if (request.command != 109 || refusal == 0) return std::nullopt;
      return test::Answer{.outcome = Outcome::refused, .code = refusal, .payload = {}};
    };
    f.drive.before_answer = [&](const Request&) {
      if (f.drive.now.mono_micros > 20 * second && f.server.partition(0).records.size() == 2) f.append(0, 1);
    };
    CHECK(f.batch(200'000).records.count == 1);
    CHECK(f.asked(100) <= 260);
    CHECK(f.asked(100) >= 100);
    CHECK(f.asked(109) <= (refusal == 0 ? 120 : 1));
  }
}

TEST_CASE("a deferred answer that does not decode fails the read and moves nothing") {
  for (const std::uint32_t partitions : {1U, 2U}) {
    Deferring f(partitions);
    f.server.meanwhile = [&] { f.append(0, 1); };
    bytes::Buffer whole;
    const auto command = partitions == 1 ? 106U : 109U;
    f.drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
      if (request.command != command) return std::nullopt;
      auto answer = f.server.answer(request);
      whole = answer.payload;
      answer.payload.pop_back();
      return answer;
    };
    CHECK(f.read(200'000) == ReadOutcome::failure);
    CHECK(f.reader->failure().kind == FailureKind::codec);
    CHECK(f.next(0) == 2);
    f.drive.fault = nullptr;
    CHECK(f.batch(200'000).records.count == 1);
  }
}

TEST_CASE("a cancelled read forgets what the server waits for, and the next one loses nothing") {
  Deferring f(2);
  REQUIRE(f.reader->read(200'000, f.drive.now));
  std::optional<Request> waiting;
  for (int step = 0; step < 100 && !waiting; ++step) {
    auto request = f.reader->poll_request(f.drive.now);
    REQUIRE(request);
    if (request->command == 109) {
      waiting = std::move(request);
      break;
    }
    const auto answer = f.server.answer(*request);
    Reply reply;
    reply.payload = answer.payload;
    f.reader->on_reply(request->tag, reply, f.drive.now);
  }
  REQUIRE(waiting);
  CHECK_FALSE(f.reader->poll_request(f.drive.now));
  CHECK_FALSE(f.reader->poll_deadline());
  f.reader->cancel_read(f.drive.now);
  CHECK(f.reader->poll_outcome() == ReadOutcome::cancelled);
  f.append(1, 1);
  const auto late = f.server.answer(*waiting);
  Reply reply;
  reply.payload = late.payload;
  f.reader->on_reply(waiting->tag, reply, f.drive.now);
  CHECK(f.batch().records.count == 1);
}

TEST_CASE("a watch reader whose partitions were made anew under it reads their new life") {
  Fixture f;
  f.options.mode = ReaderMode::watch;
  f.server.dialect = iggy::Dialect::v12;
  f.server.create_topic(2);
  f.append(0, 5);
  f.options.from = Start::beginning;
  f.open();
  f.reader->new_session(iggy::Dialect::v12);
  bool recreated = false;
  f.drive.before_answer = [&](const Request& request) {
    if (request.command != 100 || std::exchange(recreated, true)) return;
    f.server.create_topic(2);
    f.append(1, 2);
  };
  CHECK(f.batch().records.count == 2);
}
