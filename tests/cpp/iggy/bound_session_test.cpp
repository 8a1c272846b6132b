#include <catch2/catch_amalgamated.hpp>

#include "session_world.hpp"

// Sessions of servers of 0.12.2, which outlive their connections.

using namespace tidemark;
using namespace tidemark::iggy;
using namespace tidemark::iggy::test;

namespace {

struct Bound : World {
  explicit Bound(SessionOptions given = options()) : World(1, given) { log_in(); }

  static SessionOptions options() {
    SessionOptions options;
    options.dialects = {Dialect::v12, Dialect::s11};
    return options;
  }
  static bytes::Buffer admitted(std::uint64_t number) {
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(1), out.u64(number), out.u32(kVersion12), out.u8(3), out.text("dev");
    return body;
  }
  // The connection is lost and the next one is open: the frame that goes out on it first.
  bytes::Buffer redial() {
    session.lost(session.generation(), {1006, Rule::none}, now);
    drain();
    run_until(SessionState::dialing, 60 * kSecond);
    return open_again();
  }
  bytes::Buffer open_again() {
    drain();
    asked = 0;
    session.opened(dialed, now);
    drain();
    auto frames = take_frames();
    return frames.empty() ? bytes::Buffer{} : frames.front();
  }
  void bound(std::uint64_t number = 42) { answer(0, kNonReplicated, admitted(number)); }
  void refuse_bind(std::uint32_t code) { answer_status(0, code, kNonReplicated); }
};

bytes::Buffer body_of(const bytes::Buffer& frame) { return {frame.begin() + kHeaderSize, frame.end()}; }

}  // namespace

TEST_CASE("the next connection is bound to the session, with its secret and without credentials") {
  Bound world;
  // The login: version, names, then the secret.
  bytes::Buffer body;
  {
    World same(1, Bound::options());
    same.session.connect(same.now);
    same.drain();
    same.session.opened(same.dialed, same.now);
    same.give_password();
    body = body_of(same.frame);
  }
  const bytes::Buffer secret(body.begin() + 4 + 9 + 6, body.begin() + 4 + 9 + 6 + 32);
  const auto create = world.submit(202, Repeat::never);
  const auto first = world.take_frames();
  auto answer = World::reply_frame(1, 128, 0, {0, 0, 0, 0});
  const std::uint64_t commit = 77;
  std::memcpy(answer.data() + 184, &commit, 8);
  world.session.receive(world.session.generation(), answer, world.now);
  CHECK(world.reply_to(create).reply.outcome == Outcome::ok);

  const auto bind = world.redial();
  CHECK(world.asked == 0);
  CHECK(header_of(bind).operation == kNonReplicated);
  CHECK(header_of(bind).command_code == code::kBindSession);
  CHECK(header_of(bind).client == header_of(first[0]).client);
  const auto bytes = body_of(bind);
  bytes::Reader in(bytes);
  CHECK(in.u32() == kVersion12);
  in.skip(9 + 6);
  CHECK(tape::U128{in.u64(), in.u64()} == header_of(first[0]).client);
  CHECK(in.u64() == 42);
  CHECK(in.u64() == commit);
  const auto sent = in.rest();
  CHECK(bytes::Buffer(sent.begin(), sent.end()) == secret);
  world.bound();
  CHECK(world.state() == SessionState::ready);
  CHECK(world.session.dialect() == Dialect::v12);
}

TEST_CASE("writes without an answer go out again as they were, reads under new numbers") {
  Bound world;
  const auto read = world.submit(200);
  const auto send = world.submit(101, Repeat::never);
  const auto create = world.submit(202, Repeat::never);
  const auto mutation = world.submit(1'000'001, Repeat::never);
  const auto before = world.take_frames();
  REQUIRE(before.size() == 4);
  world.redial();
  // Not numbered by the server: nobody but its owner may repeat it.
  CHECK(world.reply_to(mutation).reply.outcome == Outcome::unknown);
  world.bound();
  const auto after = world.take_frames();
  REQUIRE(after.size() == 3);
  CHECK(header_of(after[0]).command_code == 200);
  CHECK(header_of(after[0]).request == 5);
  CHECK(after[1] == before[1]);
  CHECK(after[2] == before[2]);
  world.answer(2, 160, {});
  world.answer(3, 128, {0, 0, 0, 0});
  world.answer(5, kNonReplicated, {});
  for (const auto ticket : {read, send, create}) CHECK(world.reply_to(ticket).reply.outcome == Outcome::ok);
}

TEST_CASE(
    "a session that is gone: a new login on the same connection, the count goes on, writes are unknown") {
  for (const std::uint32_t code : {40U, 57U, 3U}) {
    Bound world;
    const auto read = world.submit(200);
    const auto send = world.submit(101, Repeat::never);
    const auto before = world.take_frames();
    world.redial();
    CHECK_FALSE(world.replied(send));
    const auto generation = world.session.generation();
    world.refuse_bind(code);
    CHECK(world.reply_to(send).reply.outcome == Outcome::unknown);
    CHECK(world.state() == SessionState::authenticating);
    CHECK(world.asked == generation);
    world.give_password();
    CHECK(header_of(world.frame).client != header_of(before[0]).client);
    world.reply_login(43);
    REQUIRE(world.state() == SessionState::ready);
    CHECK(world.session.generation() == generation);
    const auto after = world.take_frames();
    REQUIRE(after.size() == 1);
    CHECK(header_of(after[0]).request == 3);
    CHECK(header_of(after[0]).session == 43);
    CHECK_FALSE(world.replied(read));
  }
}

TEST_CASE("a server that lags behind the session is asked again with the same bytes, for half a minute") {
  Bound world;
  const auto bind = world.redial();
  const auto start = world.now.mono_micros;
  while (world.session.state() == SessionState::authenticating && world.asked == 0) {
    world.refuse_bind(58);
    if (world.asked != 0) break;
    auto frames = world.take_frames();
    while (frames.empty()) world.step(), frames = world.take_frames();
    CHECK(frames[0] == bind);
  }
  CHECK(world.now.mono_micros - start >= 28 * kSecond);
  CHECK(world.now.mono_micros - start <= 33 * kSecond);
  world.finish_login_from_open(44);
}

TEST_CASE("a binding to another session than the own one is a breach of the protocol") {
  Bound world;
  world.redial();
  world.bound(43);
  CHECK(world.cause().kind == Cause::Kind::protocol);
  CHECK(world.state() != SessionState::ready);
}

TEST_CASE("evictions that end the session are followed by a login, the others by a binding") {
  for (const auto reason : std::initializer_list<std::uint8_t>{1, 7, 8, 12, 13, 99}) {
    Bound world;
    world.live_for(6 * kSecond);
    const auto send = world.submit(101, Repeat::never);
    world.take_frames();
    world.evict(reason);
    REQUIRE(world.state() == SessionState::dialing);
    const auto ends = reason == 7 || reason == 8 || reason == 12;
    CHECK(world.replied(send) == ends);
    const auto first = world.open_again();
    CHECK(first.empty() == ends);
    CHECK((world.asked != 0) == ends);
    if (!ends) CHECK(header_of(first).command_code == code::kBindSession);
  }
}

TEST_CASE("evictions in answer to a binding lead to a login on the same connection") {
  for (const auto reason : std::initializer_list<std::uint8_t>{1, 7, 8, 13}) {
    Bound world;
    world.redial();
    world.evict(reason);
    CHECK(world.state() == SessionState::authenticating);
    CHECK(world.asked == world.dialed);
    world.finish_login_from_open(45);
  }
}

TEST_CASE("a server that was put back to the stable release is logged in to as one") {
  Bound world;
  world.redial();
  world.evict(14, kVersion11, kVersion11);
  REQUIRE(world.asked == world.dialed);
  world.give_password();
  CHECK(bytes::Reader(world.sent_frame().body()).u32() == kVersion11);
  world.reply_login(46);
  CHECK(world.session.dialect() == Dialect::s11);
}

TEST_CASE(
    "paused and resumed, woken and reconnected: bound each time; needs-auth and close forget the session") {
  Bound world;
  world.session.pause("hidden", world.now);
  world.session.resume("hidden", world.now);
  CHECK(header_of(world.open_again()).command_code == code::kBindSession);
  world.bound();
  world.session.reconnect(world.now);
  CHECK(header_of(world.open_again()).command_code == code::kBindSession);
  world.evict(9);
  CHECK(world.state() == SessionState::needs_auth);
  world.session.reconnect(world.now);
  CHECK(world.open_again().empty());
  CHECK(world.asked == world.dialed);
}

TEST_CASE("89 repeats the identical frame, 88 goes out under a new number, 87 and 85 are told") {
  Bound world;
  const auto next_frame = [&] {
    auto frames = world.take_frames();
    while (frames.empty()) world.step(), frames = world.take_frames();
    REQUIRE(frames.size() == 1);
    return frames[0];
  };
  const auto send = world.submit(101, Repeat::never);
  const auto first = next_frame();
  world.answer_status(1, 89, 160);
  CHECK(next_frame() == first);
  world.answer(1, 160, {});
  CHECK(world.reply_to(send).reply.outcome == Outcome::ok);
  const auto create = world.submit(202, Repeat::never);
  next_frame();
  world.answer(2, 128, {1, 0, 0, 0, 0, 0, 0, 0, 88, 0, 0, 0});
  CHECK(header_of(next_frame()).request == 3);
  world.answer(3, 128, {0, 0, 0, 0});
  CHECK(world.reply_to(create).reply.outcome == Outcome::ok);
  for (const std::uint32_t code : {85U, 87U}) {
    const auto refused = world.submit(101, Repeat::never);
    world.answer_status(header_of(next_frame()).request, code, 160);
    CHECK(world.reply_to(refused).reply.outcome == Outcome::refused);
    CHECK(world.reply_to(refused).reply.code == code);
  }
}

TEST_CASE("an older partition write is repeated after a newer one was answered: the server knows its frame") {
  Bound world;
  const auto older = world.submit(101, Repeat::never);
  world.submit(101, Repeat::never);
  const auto frames = world.take_frames();
  REQUIRE(frames.size() == 2);
  world.answer(2, 160, {});
  world.redial();
  world.bound();
  const auto again = world.take_frames();
  REQUIRE(again.size() == 1);
  CHECK(again[0] == frames[0]);
  world.answer(1, 160, {});
  CHECK(world.reply_to(older).reply.outcome == Outcome::ok);
}

TEST_CASE("a deferred read that nobody waits for is taken back under its own number") {
  for (const bool by_deadline : {false, true}) {
    Bound world;
    const auto read = world.submit(code::kFetch, Repeat::freely, 3 * kSecond);
    REQUIRE(world.take_frames().size() == 2);  // a ping behind it
    world.answer(2, kNonReplicated, {});
    if (by_deadline)
      world.run_for(3 * kSecond);
    else
      CHECK(world.session.cancel(read));
    const auto frames = world.take_frames();
    REQUIRE(frames.size() == 1);
    CHECK(header_of(frames[0]).command_code == code::kCancelDeferred);
    CHECK(header_of(frames[0]).request == 1);
    CHECK(frames[0].size() == kHeaderSize);
    world.answer(1, kNonReplicated, {});
    CHECK(world.state() == SessionState::ready);
  }
}

TEST_CASE(
    "a server that answers no ping behind a deferred read is not left waiting: refused with 90, taken back") {
  Bound world;
  const auto read = world.submit(code::kDeferredPoll, Repeat::freely, 60 * kSecond);
  const auto sent = world.take_frames();
  REQUIRE(sent.size() == 2);
  CHECK(header_of(sent[1]).command_code == code::kPing);
  world.run_for(1'900'000);
  CHECK_FALSE(world.replied(read));
  world.run_for(200'000);
  CHECK(world.reply_to(read).reply.outcome == Outcome::refused);
  CHECK(world.reply_to(read).reply.code == 90);
  const auto frames = world.take_frames();
  REQUIRE(frames.size() == 1);
  CHECK(header_of(frames[0]).command_code == code::kCancelDeferred);
  CHECK(world.lines_held == 1);
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("on a connection of its own a deferred read may hold the line, within the watchdog") {
  auto options = Bound::options();
  options.dedicated = true;
  Bound world(options);
  const auto read = world.submit(code::kDeferredPoll, Repeat::freely, 60 * kSecond);
  world.take_frames();
  world.run_for(14 * kSecond);
  CHECK(world.take_frames().size() == 1);
  CHECK_FALSE(world.replied(read));
  CHECK(world.lines_held == 0);
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("a server that answers pings behind it may keep a deferred read") {
  Bound world;
  const auto read = world.submit(code::kDeferredPoll, Repeat::freely, 60 * kSecond);
  REQUIRE(world.take_frames().size() == 2);
  world.answer(2, kNonReplicated, {});
  world.live_for(30 * kSecond);
  CHECK_FALSE(world.replied(read));
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("every prefix of an answer to a binding ends that connection, and the next one is bound") {
  const auto whole = World::reply_frame(0, kNonReplicated, 0, Bound::admitted(42));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Bound world;
    world.redial();
    const auto generation = world.session.generation();
    const bytes::Buffer prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    world.session.receive(generation, prefix, world.now);
    world.drain();
    CHECK(world.dropped == generation);
    if (world.state() != SessionState::dialing) world.run_until(SessionState::dialing, 60 * kSecond);
    CHECK(header_of(world.open_again()).command_code == code::kBindSession);
    world.bound();
    CHECK(world.state() == SessionState::ready);
  }
}
