#include "changefeed/consumer.hpp"

#include "changefeed/support.hpp"

namespace tidemark::changefeed::test {
namespace {

TEST_CASE("a run without a position starts from now and reaches where its stream opened") {
  Bench bench;
  REQUIRE(bench.consumer.run(std::nullopt, bench.now));
  const auto open = bench.one(Kind::open);
  CHECK(open.from == From::now);
  bench.consumer.opened(open.generation, bytes("p0"), bench.now);
  CHECK(text(bench.consumer.position()) == "p0");
}

TEST_CASE("a run with a position opens after it") {
  Bench bench;
  REQUIRE(bench.consumer.run(bytes("p7"), bench.now));
  CHECK(bench.one(Kind::open).from == From::position);
  CHECK(text(bench.consumer.position()) == "p7");
}

TEST_CASE("a second run is refused while one is under way") {
  Bench bench;
  bench.open();
  CHECK_FALSE(bench.consumer.run(std::nullopt, bench.now));
}

// Rows 19, 24: the position moves when the handler is done, not when a change has come.
TEST_CASE("the position moves after the handler, never before") {
  Bench bench;
  bench.open("p1");
  bench.change("p2");
  bench.one(Kind::change);
  CHECK(text(bench.consumer.position()) == "p1");
  bench.consumer.handled(bench.now);
  CHECK(text(bench.consumer.position()) == "p2");
}

// Row 58, D8: pull only.
TEST_CASE("nothing is asked for while the handler is at work") {
  Bench bench;
  bench.open();
  bench.change("p1");
  bench.one(Kind::change);
  bench.nothing();
  bench.consumer.handled(bench.now);
  bench.one(Kind::next);
}

TEST_CASE("a handler that throws ends the run before that change") {
  Bench bench;
  bench.open("p1");
  bench.pass_change("p2");
  bench.change("p3");
  bench.one(Kind::change);
  bench.consumer.handler_failed(bench.now);
  CHECK(bench.finished().outcome == Outcome::handler_failed);
  CHECK(text(bench.consumer.position()) == "p2");
}

TEST_CASE("a stop ends the run at the last position reached and closes the stream") {
  Bench bench;
  bench.open("p1");
  bench.one(Kind::next);
  bench.consumer.stop(bench.now);
  const auto actions = bench.work();
  REQUIRE(actions.size() == 2);
  CHECK(actions[0].kind == Kind::close);
  CHECK(actions[1].kind == Kind::finished);
  CHECK(actions[1].outcome == Outcome::stopped);
  CHECK(text(bench.consumer.position()) == "p1");
  bench.nothing();
  CHECK(bench.consumer.run(std::nullopt, bench.now));
}

TEST_CASE("a stop waits for the handler, and what it handled counts") {
  Bench bench;
  bench.open("p1");
  bench.change("p2");
  bench.one(Kind::change);
  bench.consumer.stop(bench.now);
  bench.nothing();
  bench.consumer.handled(bench.now);
  bench.finished();
  CHECK(text(bench.consumer.position()) == "p2");
}

TEST_CASE("after an error the stream is opened after the position last reached") {
  Bench bench;
  bench.open();
  bench.pass_change("p1");
  bench.fail();
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 100);
  bench.pass(99);
  bench.nothing();
  bench.pass(1);
  CHECK(bench.one(Kind::open).from == From::position);
  CHECK(text(bench.consumer.position()) == "p1");
}

TEST_CASE("the wait doubles while opening fails and begins anew after a change") {
  Bench bench;
  bench.consumer.run(std::nullopt, bench.now);
  for (const std::uint64_t expected : {100U, 200U, 400U, 800U, 1600U, 3200U, 5000U, 5000U}) {
    bench.fail();
    bench.one(Kind::close);
    CHECK(bench.wait_ms() == expected);
    bench.pass(expected);
  }
  bench.answer_open("p0");
  bench.pass_change("p1");
  bench.fail();
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 100);
}

TEST_CASE("a stream that opens and fails at once does not begin the wait anew") {
  Bench bench;
  bench.open();
  bench.fail();
  bench.one(Kind::close);
  bench.pass(100);
  bench.answer_open("p0");
  bench.fail();
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 200);
}

// Row 7: a quiet period is success.
TEST_CASE("idle moves the position and begins the wait anew") {
  Bench bench;
  bench.open();
  for (int round = 0; round < 3; ++round) {
    bench.fail();
    bench.one(Kind::close);
    bench.pass(bench.wait_ms());
    bench.answer_open("p0");
  }
  const auto next = bench.one(Kind::next);
  REQUIRE(bench.consumer.idle(next.generation, bytes("p9"), bench.now));
  bench.one(Kind::idle);
  bench.consumer.handled(bench.now);
  CHECK(text(bench.consumer.position()) == "p9");
  bench.fail();
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 100);
}

TEST_CASE("a stream that stood for the longest wait is a success though nothing came") {
  Bench bench;
  bench.open();
  bench.fail();
  bench.one(Kind::close);
  bench.pass(100);
  bench.answer_open("p0");
  const auto next = bench.one(Kind::next);
  bench.pass(5'000);
  CHECK(bench.consumer.next_attempt(bench.now) == 1);
  bench.consumer.failed(next.generation, error, bench.now);
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 100);
}

TEST_CASE("a back-off of the application's own takes the place of the usual one") {
  Bench bench;
  bench.open();
  CHECK(bench.consumer.next_attempt(bench.now) == 1);
  bench.fail({SourceFailure::Kind::error, false, 7'000});
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 7);
  CHECK(bench.consumer.next_attempt(bench.now) == 2);
}

TEST_CASE("a failure that is of no use to repeat ends the run") {
  Bench bench;
  bench.open("p1");
  bench.fail({SourceFailure::Kind::fatal, false, std::nullopt});
  CHECK(bench.finished().outcome == Outcome::source_failed);
  CHECK(text(bench.consumer.position()) == "p1");
}

// Rows 1, 2, 4: a wake is seen by the clocks alone, and what was put off is due.
TEST_CASE("a clock jump fires the pending attempt and begins the wait anew") {
  Bench bench;
  bench.consumer.run(std::nullopt, bench.now);
  for (int round = 0; round < 6; ++round) {
    bench.fail();
    bench.one(Kind::close);
    bench.pass(bench.wait_ms());
  }
  bench.fail();
  bench.one(Kind::close);
  bench.nothing();
  bench.now.wall_micros += micros_from_ms(2 * 3'600'000);  // asleep: the monotonic clock stood still
  bench.fail();
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 100);
}

TEST_CASE("a wall clock that is set back wakes nothing") {
  Bench bench;
  bench.open();
  bench.fail();
  bench.one(Kind::close);
  bench.now.wall_micros -= micros_from_ms(3'600'000);
  bench.nothing();
  CHECK(bench.wait_ms() == 100);
}

TEST_CASE("a wake by the driver fires the pending attempt") {
  Bench bench;
  bench.open();
  bench.fail();
  bench.one(Kind::close);
  bench.consumer.wake(bench.now);
  bench.one(Kind::open);
}

TEST_CASE("another watched set reopens at once after the position") {
  Bench bench;
  bench.open();
  bench.pass_change("p1");
  const auto next = bench.one(Kind::next);
  bench.consumer.set_watched(watching({"orders", "customers"}), bench.now);
  const auto actions = bench.work();
  REQUIRE(actions.size() == 2);
  CHECK(actions[0].kind == Kind::close);
  CHECK(actions[0].generation == next.generation);
  CHECK(actions[1].kind == Kind::open);
  CHECK(actions[1].from == From::position);
  CHECK_FALSE(bench.consumer.change(next.generation, {}, bytes("p2"), bench.now));
  bench.consumer.opened(actions[1].generation, bytes("p1"), bench.now);
  bench.one(Kind::next);
  CHECK(bench.reopened() == std::vector{Reason::set_changed});
}

TEST_CASE("the same watched set changes nothing") {
  Bench bench({}, watching({"a", "b"}));
  bench.open();
  bench.one(Kind::next);
  bench.consumer.set_watched(watching({"b", "a"}), bench.now);
  bench.nothing();
}

TEST_CASE("another watched set waits for the handler, whose change is not read again") {
  Bench bench;
  bench.open();
  bench.change("p1");
  bench.one(Kind::change);
  bench.consumer.set_watched(watching({"customers"}), bench.now);
  bench.nothing();
  bench.consumer.handled(bench.now);
  CHECK(bench.work().back().from == From::position);
  CHECK(text(bench.consumer.position()) == "p1");
}

TEST_CASE("a change that came and was not handed over is read again after another watched set") {
  Bench bench;
  bench.open("p1");
  bench.change("p2");
  bench.consumer.set_watched(watching({"customers"}), bench.now);
  CHECK(bench.work().back().kind == Kind::open);
  CHECK(text(bench.consumer.position()) == "p1");
}

TEST_CASE("an empty watched set waits, and keeps the place") {
  Bench bench({}, {});
  bench.consumer.run(bytes("p1"), bench.now);
  bench.nothing();
  CHECK_FALSE(bench.consumer.poll_deadline());
  bench.consumer.set_watched(watching({"a"}), bench.now);
  bench.answer_open("p1");
  bench.pass_change("p2");
  CHECK(bench.reopened().empty());
  bench.one(Kind::next);
  bench.consumer.set_watched({}, bench.now);
  bench.one(Kind::close);
  bench.pass(60'000);
  bench.nothing();
  bench.consumer.set_watched(watching({"b"}), bench.now);
  CHECK(bench.one(Kind::open).from == From::position);
  CHECK(text(bench.consumer.position()) == "p2");
}

TEST_CASE("another watched set does not hurry a source that fails") {
  Bench bench;
  bench.open();
  bench.fail();
  bench.one(Kind::close);
  bench.consumer.set_watched(watching({"b"}), bench.now);
  bench.nothing();
  bench.pass(100);
  bench.answer_open("p0");
  bench.work();
  CHECK(bench.reopened() == std::vector{Reason::error});
}

// Rows 16 to 18, 21, D2: lost history is told, once, before anything that follows.
TEST_CASE("lost history opens from now and tells the gap before any change") {
  Bench bench;
  bench.consumer.run(bytes("p100"), bench.now);
  const auto noticed = bench.now.wall_micros;
  bench.fail(history_lost);
  const auto actions = bench.work();
  REQUIRE(actions.size() == 2);
  CHECK(actions[0].kind == Kind::close);
  CHECK(actions[1].from == From::now);
  bench.pass(70);
  bench.consumer.opened(actions[1].generation, bytes("p400"), bench.now);
  const auto gap = bench.one(Kind::gap);
  CHECK(gap.micros == noticed);
  CHECK(text(bench.consumer.gap_position()) == "p100");
  CHECK(text(bench.consumer.position()) == "p100");
  bench.consumer.handled(bench.now);
  CHECK(text(bench.consumer.position()) == "p400");
  CHECK(bench.reopened() == std::vector{Reason::history_lost});
  bench.pass_change("p401");
}

TEST_CASE("a second start with the new position has no gap") {
  Bench bench;
  bench.open("p401", "p401");
  bench.pass_change("p402");
  CHECK(bench.reopened().empty());
}

TEST_CASE("a gap that was not told yet survives errors and stops") {
  Bench bench;
  bench.consumer.run(bytes("p1"), bench.now);
  bench.fail(history_lost);
  bench.work();
  SECTION("an error") {
    bench.consumer.failed(2, error, bench.now);
    bench.one(Kind::close);
    bench.pass(100);
    const auto open = bench.one(Kind::open);
    CHECK(open.from == From::now);
    bench.consumer.opened(open.generation, bytes("p9"), bench.now);
    bench.one(Kind::gap);
    CHECK(text(bench.consumer.gap_position()) == "p1");
  }
  SECTION("a stop: the next run finds it again") {
    bench.consumer.stop(bench.now);
    bench.finished();
    CHECK(text(bench.consumer.position()) == "p1");
  }
  SECTION("a handler that throws on it") {
    bench.consumer.opened(2, bytes("p9"), bench.now);
    bench.one(Kind::gap);
    bench.consumer.handler_failed(bench.now);
    bench.finished();
    CHECK(text(bench.consumer.position()) == "p1");
  }
}

TEST_CASE("where it is asked for, reading goes on from the earliest, or not at all") {
  SECTION("earliest") {
    Bench bench({{}, OnHistoryLost::earliest});
    bench.consumer.run(bytes("p1"), bench.now);
    bench.fail(history_lost);
    CHECK(bench.work().back().from == From::earliest);
  }
  SECTION("stop") {
    Bench bench({{}, OnHistoryLost::stop});
    bench.consumer.run(bytes("p1"), bench.now);
    bench.fail(history_lost);
    CHECK(bench.finished().outcome == Outcome::history_lost);
    CHECK(text(bench.consumer.position()) == "p1");
  }
}

// Row 26: a loop ends with an error.
TEST_CASE("three resets at one position end the run, with a wait between them") {
  Bench bench;
  bench.consumer.run(bytes("p1"), bench.now);
  bench.fail(history_lost);
  bench.fail(history_lost);
  bench.one(Kind::close);
  CHECK(bench.wait_ms() == 100);
  bench.pass(100);
  bench.fail(history_lost);
  CHECK(bench.finished().outcome == Outcome::history_lost);
  CHECK(text(bench.consumer.position()) == "p1");
}

TEST_CASE("resets with changes between them are no loop") {
  Bench bench;
  bench.open("p1");
  for (int round = 0; round < 10; ++round) {
    bench.fail(history_lost);
    const auto open = bench.work().back();
    bench.consumer.opened(open.generation, bytes("p2"), bench.now);
    bench.one(Kind::gap);
    bench.consumer.handled(bench.now);
    bench.pass_change("p3");
  }
}

// Row 20, D3: late words of an old stream.
TEST_CASE("an old stream's late answers are ignored") {
  Bench bench;
  const auto old = bench.open("p1");
  bench.fail();
  bench.one(Kind::close);
  bench.pass(100);
  const auto open = bench.one(Kind::open);
  bench.consumer.opened(old, bytes("p5"), bench.now);
  bench.consumer.failed(old, history_lost, bench.now);
  bench.nothing();
  bench.consumer.opened(open.generation, bytes("p1"), bench.now);
  bench.one(Kind::next);
  CHECK_FALSE(bench.consumer.change(old, {}, bytes("p9"), bench.now));
  CHECK_FALSE(bench.consumer.idle(old, bytes("p9"), bench.now));
  bench.nothing();
  CHECK(text(bench.consumer.position()) == "p1");
}

// Row 10: errors obey a pause.
TEST_CASE("while held nothing is read, handed over or retried") {
  Bench bench;
  bench.open("p1");
  bench.change("p2");
  bench.consumer.hold(true);
  bench.nothing();
  bench.consumer.hold(false);
  bench.one(Kind::change);
  bench.consumer.handled(bench.now);
  bench.consumer.hold(true);
  bench.nothing();
  bench.consumer.failed(1, error, bench.now);
  bench.one(Kind::close);
  bench.pass(60'000);
  bench.nothing();
  CHECK_FALSE(bench.consumer.poll_deadline());
  bench.consumer.hold(false);
  bench.one(Kind::open);
}

TEST_CASE("lag is the wall clock over the change's time, never below 0, absent while idle") {
  Bench bench;
  bench.open();
  Outline outline{Op::update, false, true, true, bench.now.wall_micros - 3'000'000};
  bench.pass_change("p1", outline);
  bench.one(Kind::next);
  std::vector<std::uint64_t> lags;
  const auto collect = [&] {
    lags.clear();
    for (const auto& note : bench.notes)
      if (note.kind == Kind::feed_lag) lags.push_back(note.micros);
  };
  collect();
  CHECK(lags == std::vector<std::uint64_t>{3'000'000});
  outline.at_micros = bench.now.wall_micros + 1;
  REQUIRE(bench.consumer.change(1, outline, bytes("p2"), bench.now));
  bench.one(Kind::change);
  bench.consumer.handled(bench.now);
  bench.one(Kind::next);
  REQUIRE(bench.consumer.idle(1, bytes("p3"), bench.now));
  bench.one(Kind::idle);
  bench.consumer.handled(bench.now);
  bench.one(Kind::next);
  collect();
  CHECK(lags == std::vector<std::uint64_t>{3'000'000, 0});
}

TEST_CASE("observers see the feed open and close, and each change with its op") {
  Bench bench({}, watching({"a", "b"}));
  bench.open();
  bench.pass_change("p1", {Op::remove, true, false, false, 0});
  bench.one(Kind::next);
  bench.consumer.stop(bench.now);
  bench.finished();
  std::vector<std::pair<Kind, bool>> seen;
  for (const auto& note : bench.notes) seen.emplace_back(note.kind, note.open || note.system);
  CHECK(seen == std::vector<std::pair<Kind, bool>>{{Kind::feed_state, false},
                                                   {Kind::feed_state, true},
                                                   {Kind::feed_event, true},
                                                   {Kind::feed_state, false}});
  CHECK(bench.notes[1].watched == 2);
  CHECK(bench.notes[2].op == Op::remove);
}

TEST_CASE("a position over the cap ends the run where it was") {
  Bench bench;
  bench.open("p1");
  const std::string long_one(Consumer::max_position + 1, 'x');
  const auto next = bench.one(Kind::next);
  CHECK_FALSE(bench.consumer.change(next.generation, {}, bytes(long_one), bench.now));
  CHECK(bench.finished().outcome == Outcome::bad_position);
  CHECK(text(bench.consumer.position()) == "p1");
}

TEST_CASE("an empty position is a position") {
  Bench bench;
  bench.open("", "");
  bench.fail();
  bench.one(Kind::close);
  bench.pass(100);
  CHECK(bench.one(Kind::open).from == From::position);
}

}  // namespace
}  // namespace tidemark::changefeed::test
