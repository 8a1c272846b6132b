#include <algorithm>
#include <catch2/catch_amalgamated.hpp>
#include <map>

#include "iggy/checksum.hpp"
#include "iggy/operation.hpp"
#include "session_world.hpp"

using namespace tidemark;
using namespace tidemark::iggy;
using namespace tidemark::iggy::test;

TEST_CASE(
    "a login is two frames: credentials are asked for at every dial, session and number start at zero") {
  World world;
  world.session.connect(world.now);
  CHECK(world.state() == SessionState::dialing);
  world.session.opened(world.dialed, world.now);
  CHECK(world.state() == SessionState::authenticating);
  CHECK(world.asked == world.dialed);
  world.give_password();
  const auto login = world.sent_frame().request();
  CHECK(login.operation == kRegister);
  CHECK(login.request == 0);
  CHECK(login.session == 0);
  CHECK(login.client != tape::U128{});
  CHECK(login.request_checksum == tape::U128{xxh3_64(world.sent_frame().body()), 0});
  world.reply_login();
  CHECK(world.state() == SessionState::ready);
  CHECK(world.session.dialect() == Dialect::s11);
}

TEST_CASE("every request after the login has a fresh number, reads included") {
  World world;
  world.log_in();
  world.submit(201);
  world.submit(202, Repeat::never);
  world.submit(100);
  const auto frames = world.take_frames();
  REQUIRE(frames.size() == 3);
  for (std::size_t index = 0; index < 3; ++index) {
    CHECK(header_of(frames[index]).request == index + 1);
    CHECK(header_of(frames[index]).session == 42);
  }
  CHECK(header_of(frames[0]).operation == kNonReplicated);
  CHECK(header_of(frames[0]).command_code == 201);
  CHECK(header_of(frames[0]).request_checksum == tape::U128{});
  CHECK(header_of(frames[1]).operation == 128);
  CHECK(header_of(frames[1]).command_code == 0);
  CHECK(header_of(frames[1]).request_checksum != tape::U128{});
}

TEST_CASE("replies find their request by number, in whatever order they come") {
  World world;
  world.log_in();
  const auto first = world.submit(201);
  const auto second = world.submit(1'000'000);
  world.take_frames();
  world.answer(2, kNonReplicated, {7});
  world.answer(1, kNonReplicated, {8, 9});
  CHECK(world.reply_to(second).reply.outcome == Outcome::ok);
  CHECK(world.payload_of(second) == bytes::Buffer{7});
  CHECK(world.payload_of(first) == bytes::Buffer{8, 9});
  CHECK(world.session.pending() == 0);
}

TEST_CASE("wrong credentials stop the dialling until reconnect") {
  for (const auto reason : std::initializer_list<std::uint8_t>{9, 10, 11}) {
    World world;
    const auto waiting = world.submit(201);
    world.open();
    world.give_password();
    world.evict(reason);
    CHECK(world.state() == SessionState::needs_auth);
    CHECK(world.cause().kind == Cause::Kind::eviction);
    CHECK(world.cause().code == reason);
    CHECK_FALSE(world.cause().retryable);
    CHECK(world.dropped == world.dialed);
    CHECK(world.reply_to(waiting).reply.outcome == Outcome::not_sent);
    const auto before = world.dialed;
    world.run_for(600 * kSecond);
    world.session.wake(Wake::visible, world.now);
    world.session.connect(world.now);
    CHECK(world.dialed == before);
    CHECK(world.reply_to(world.submit(201)).reply.outcome == Outcome::not_sent);
    world.session.reconnect(world.now);
    world.drain();
    CHECK(world.dialed == before + 1);
  }
}

TEST_CASE("a credentials callback that never answers or fails is retried, and a later success recovers") {
  World world;
  world.open();
  const auto first = world.asked;
  world.run_for(10 * kSecond);
  CHECK(world.state() == SessionState::waiting);
  CHECK(world.cause().kind == Cause::Kind::credentials);
  world.session.credentials(first, {"late-token", {}, {}}, world.now);
  CHECK_FALSE(world.session.poll_transmit(world.now).has_value());
  world.run_until(SessionState::dialing, 60 * kSecond);
  world.session.opened(world.dialed, world.now);
  world.session.credentials_failed(world.dialed, world.now);
  world.drain();
  CHECK(world.state() == SessionState::waiting);
  world.run_until(SessionState::dialing, 60 * kSecond);
  world.finish_login();
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("a token that no frame can hold asks for other credentials instead of dialling for ever") {
  World world;
  world.open();
  world.session.credentials(world.session.generation(), {std::string(256, 't'), {}, {}}, world.now);
  world.drain();
  CHECK(world.state() == SessionState::needs_auth);
  CHECK(world.cause().error.rule == Rule::argument);
}

TEST_CASE("no event and no error carries the password") {
  World world;
  world.open();
  world.give_password();
  CHECK(contains(world.frame, "open sesame"));
  world.evict(9);
  CHECK_FALSE(world.session.poll_transmit(world.now).has_value());
  CHECK(world.cause().error.path().find("sesame") == std::string_view::npos);
}

TEST_CASE("reason 14 negotiates once on the same connection, with the window's own dialect") {
  World world;
  world.open();
  world.give_password();
  const auto generation = world.dialed;
  world.evict(14, kVersion12, kVersion12);
  REQUIRE(world.state() == SessionState::authenticating);
  world.take_frames();
  CHECK(world.dialed == generation);
  bytes::Reader body(world.sent_frame().body());
  CHECK(body.u32() == kVersion12);
  CHECK(world.sent_frame().body().size() == 4 + 9 + 6 + 32 + 5 + 12 + 4);
  world.reply_login();
  CHECK(world.session.dialect() == Dialect::v12);
  // Remembered for the next connection.
  world.session.reconnect(world.now);
  world.drain();
  world.session.opened(world.dialed, world.now);
  world.give_password();
  CHECK(bytes::Reader(world.sent_frame().body()).u32() == kVersion12);
}

TEST_CASE("a window without a dialect of ours, or no window, gives up and says so") {
  const auto outcome = [](std::uint32_t highest, std::uint32_t lowest) {
    World world;
    world.open();
    world.give_password();
    world.evict(14, highest, lowest);
    CHECK(world.state() == SessionState::idle);
    const auto before = world.dialed;
    world.run_for(120 * kSecond);
    CHECK(world.dialed == before);
    return world.cause();
  };
  const auto future = outcome(pack_version(0, 13, 0), pack_version(0, 13, 0));
  CHECK(future.kind == Cause::Kind::eviction);
  CHECK(future.version_min == pack_version(0, 13, 0));
  CHECK_FALSE(future.retryable);
  CHECK(outcome(0, 0).error.rule == Rule::eviction_window);
  CHECK(outcome(5, 9).error.rule == Rule::eviction_window);
}

TEST_CASE("a login answered with 57 or 58 is repeated with the same bytes and a growing pause") {
  World world;
  world.open();
  world.give_password();
  const auto first = world.frame;
  std::vector<std::uint64_t> pauses;
  for (const auto code : std::initializer_list<std::uint8_t>{58, 57, 58, 58}) {
    const auto at = world.now.mono_micros;
    world.reply_login_code(code);
    CHECK(world.take_frames().empty());
    while (world.take_frames().empty()) world.step();
    pauses.push_back(world.now.mono_micros - at);
    CHECK(world.frame == first);
  }
  CHECK(pauses[0] >= 25'000);
  CHECK(pauses[0] <= 50'000);
  CHECK(pauses[3] >= 200'000);
  CHECK(pauses[3] <= 400'000);
  world.reply_login();
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("a server that accepts and never answers the login is left after the watchdog time") {
  World world;
  world.open();
  world.give_password();
  world.run_for(14 * kSecond);
  CHECK(world.state() == SessionState::authenticating);
  world.run_for(2 * kSecond);
  CHECK(world.cause().kind == Cause::Kind::timeout);
  CHECK(world.dropped == 1);
}

TEST_CASE("a socket that never opens is replaced") {
  World world;
  world.session.connect(world.now);
  world.drain();
  world.run_for(10 * kSecond);
  CHECK(world.state() == SessionState::waiting);
  CHECK(world.cause().kind == Cause::Kind::timeout);
  CHECK(world.dropped == 1);
}

TEST_CASE("a ping goes out every five seconds, and any frame is life") {
  World world;
  world.log_in();
  unsigned pings = 0;
  for (unsigned second = 0; second < 60; ++second) {
    world.run_for(kSecond);
    for (const auto& frame : world.take_frames()) {
      CHECK(header_of(frame).command_code == code::kPing);
      pings += 1;
      world.answer(header_of(frame).request, kNonReplicated, {});
    }
  }
  CHECK(pings >= 11);
  CHECK(pings <= 12);
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("a short watchdog does not end an idle connection to a server that answers pings") {
  SessionOptions options;
  options.watchdog = kSecond / 2;
  World world(1, options);
  world.log_in();
  for (unsigned step = 0; step < 600; ++step) {
    world.run_for(kSecond / 100);
    for (const auto& frame : world.take_frames()) world.answer(header_of(frame).request, kNonReplicated, {});
  }
  CHECK(world.state() == SessionState::ready);
  CHECK(world.dialed == 1);
  world.run_for(kSecond / 2);
  CHECK(world.dialed == 2);
}

TEST_CASE("silence for the watchdog time replaces a ready connection at once") {
  World world;
  world.log_in();
  world.run_for(14 * kSecond);
  CHECK(world.state() == SessionState::ready);
  world.run_for(kSecond);
  CHECK(world.state() == SessionState::dialing);
  CHECK(world.cause().kind == Cause::Kind::timeout);
  CHECK(world.dropped == 1);
  CHECK(world.dialed == 2);
}

TEST_CASE("only a managed call stretches the watchdog, to its deadline and two seconds") {
  World world;
  world.log_in();
  const auto call = world.submit(1'000'100, Repeat::freely, 40 * kSecond);
  world.take_frames();
  world.run_for(39 * kSecond);
  CHECK(world.state() == SessionState::ready);
  world.run_for(kSecond);
  CHECK(world.reply_to(call).reply.timed_out);
  world.run_for(3 * kSecond);
  CHECK(world.cause().kind == Cause::Kind::timeout);

  World polling;
  polling.log_in();
  polling.submit(100, Repeat::freely, 40 * kSecond);
  polling.take_frames();
  polling.run_for(15 * kSecond);
  CHECK(polling.state() != SessionState::ready);
}

TEST_CASE("a read is repeated on the next connection, a write is unknown") {
  World world;
  world.log_in();
  const auto read = world.submit(100);
  const auto send = world.submit(101, Repeat::never);
  const auto create = world.submit(202, Repeat::never);
  const auto queued = world.submit(302, Repeat::never);  // behind the create: never left
  const auto before = world.take_frames();
  REQUIRE(before.size() == 3);
  world.session.lost(world.dialed, {1006, Rule::none}, world.now);
  world.drain();
  CHECK(world.reply_to(send).reply.outcome == Outcome::unknown);
  CHECK(world.reply_to(create).reply.outcome == Outcome::unknown);
  CHECK_FALSE(world.replied(read));
  CHECK_FALSE(world.replied(queued));
  world.run_until(SessionState::dialing, 60 * kSecond);
  world.finish_login(43);
  const auto after = world.take_frames();
  REQUIRE(after.size() == 2);
  CHECK(header_of(after[0]).request == 1);
  CHECK(header_of(after[0]).session == 43);
  CHECK(header_of(after[0]).command_code == 100);
  CHECK(header_of(after[0]).client != header_of(before[0]).client);
  CHECK(header_of(after[1]).operation == 132);
}

TEST_CASE("one metadata write at a time, while reads and partition writes pass it") {
  World world;
  world.log_in();
  world.submit(202, Repeat::never);
  world.submit(302, Repeat::never);
  world.submit(100);
  world.submit(101, Repeat::never);
  const auto first = world.take_frames();
  REQUIRE(first.size() == 3);
  CHECK(header_of(first[1]).command_code == 100);
  world.answer(1, 128, {0, 0, 0, 0});
  const auto second = world.take_frames();
  REQUIRE(second.size() == 1);
  CHECK(header_of(second[0]).operation == 132);
  CHECK(header_of(second[0]).request == 4);
}

TEST_CASE("57 and 58 repeat the identical frame with a growing pause, and hold back later metadata writes") {
  World world;
  world.log_in();
  const auto create = world.submit(202, Repeat::never);
  world.submit(302, Repeat::never);
  auto frames = world.take_frames();
  REQUIRE(frames.size() == 1);
  const auto identical = frames[0];
  for (const auto code : std::initializer_list<std::uint8_t>{58, 57, 58}) {
    world.answer(1, 128, {1, 0, 0, 0, 0, 0, 0, 0, code, 0, 0, 0});
    CHECK(world.take_frames().empty());
    while ((frames = world.take_frames()).empty()) world.step();
    REQUIRE(frames.size() == 1);
    CHECK(frames[0] == identical);
  }
  world.answer(1, 128, {0, 0, 0, 0});
  CHECK(world.reply_to(create).reply.outcome == Outcome::ok);
}

TEST_CASE("the budget for transient answers ends: 58 is a refusal, 57 unknown") {
  for (const std::uint32_t code : {57U, 58U}) {
    World world;
    world.log_in();
    const auto send = world.submit(101, Repeat::never, 120 * kSecond);
    const auto start = world.now.mono_micros;
    while (!world.replied(send)) {
      for (const auto& frame : world.take_frames())
        world.answer_status(header_of(frame).request, header_of(frame).operation == 160 ? code : 0,
                            header_of(frame).operation);
      if (!world.replied(send)) world.step();
    }
    CHECK(world.now.mono_micros - start <= 31 * kSecond);
    CHECK(world.now.mono_micros - start >= 27 * kSecond);
    CHECK(world.reply_to(send).reply.code == code);
    CHECK(world.reply_to(send).reply.outcome == (code == 57 ? Outcome::unknown : Outcome::refused));
  }
}

TEST_CASE(
    "a partition write that a newer one has passed goes out under a new number after 58, never after 57") {
  for (const std::uint32_t code : {57U, 58U}) {
    World world;
    world.log_in();
    const auto older = world.submit(101, Repeat::never);
    world.submit(101, Repeat::never);
    REQUIRE(world.take_frames().size() == 2);
    world.answer_status(1, code, 160);
    world.answer(2, 160, {});
    while (world.frames_or_reply(older)) world.step();
    if (code == 57) {
      CHECK(world.reply_to(older).reply.outcome == Outcome::unknown);
    } else {
      CHECK(header_of(world.frame).request == 3);
      CHECK(header_of(world.frame).operation == 160);
    }
  }
}

TEST_CASE("59 is an unknown outcome, other codes are refusals") {
  World world;
  world.log_in();
  const auto used = world.submit(202, Repeat::never);
  world.take_frames();
  world.answer(1, 128, {1, 0, 0, 0, 0, 0, 0, 0, 59, 0, 0, 0});
  CHECK(world.reply_to(used).reply.outcome == Outcome::unknown);
  CHECK(world.reply_to(used).reply.code == 59);
  const auto exists = world.submit(202, Repeat::never);
  world.take_frames();
  world.answer(2, 128, {1, 0, 0, 0, 0, 0, 0, 0, 0xF4, 3, 0, 0});
  CHECK(world.reply_to(exists).reply.outcome == Outcome::refused);
  CHECK(world.reply_to(exists).reply.code == 1012);
}

TEST_CASE("a request that is not answered ends at its deadline, and its late answer is ignored") {
  World world;
  world.log_in();
  const auto read = world.submit(201, Repeat::freely, 3 * kSecond);
  world.take_frames();
  world.run_for(3 * kSecond);
  CHECK(world.reply_to(read).reply.outcome == Outcome::unknown);
  CHECK(world.reply_to(read).reply.timed_out);
  world.answer(1, kNonReplicated, {});
  CHECK(world.state() == SessionState::ready);

  World offline;
  const auto never = offline.submit(201, Repeat::freely, 3 * kSecond);
  offline.run_for(3 * kSecond);
  CHECK(offline.reply_to(never).reply.outcome == Outcome::not_sent);
  CHECK(offline.reply_to(never).reply.timed_out);
}

TEST_CASE("a cancelled request says nothing more") {
  World world;
  world.log_in();
  const auto read = world.submit(201);
  world.take_frames();
  CHECK(world.session.cancel(read));
  CHECK_FALSE(world.session.cancel(read));
  world.answer(1, kNonReplicated, {});
  CHECK_FALSE(world.replied(read));
  CHECK(world.state() == SessionState::ready);
}

TEST_CASE("status 40 logs in again and repeats the request, once") {
  World world;
  world.log_in();
  const auto create = world.submit(202, Repeat::never);
  world.take_frames();
  world.answer_status(1, 40, 128);
  CHECK_FALSE(world.replied(create));
  CHECK(world.state() == SessionState::dialing);
  world.finish_login();
  REQUIRE(world.take_frames().size() == 1);
  world.answer_status(1, 40, 128);
  CHECK(world.reply_to(create).reply.outcome == Outcome::refused);
  CHECK(world.reply_to(create).reply.code == 40);
}

TEST_CASE("an eviction ends everything in flight and logs in again") {
  for (const auto reason : std::initializer_list<std::uint8_t>{1, 7, 8, 12, 13, 99}) {
    World world;
    world.log_in();
    world.live_for(6 * kSecond);
    const auto send = world.submit(101, Repeat::never);
    const auto read = world.submit(100);
    world.take_frames();
    world.evict(reason);
    CHECK(world.reply_to(send).reply.outcome == Outcome::unknown);
    CHECK_FALSE(world.replied(read));
    CHECK(world.state() == SessionState::dialing);
    CHECK(world.cause().code == reason);
    CHECK(world.cause().retryable);
  }
}

TEST_CASE("text messages, broken frames and answers to nothing end the connection") {
  for (unsigned kind = 0; kind < 5; ++kind) {
    World world;
    world.log_in();
    world.live_for(6 * kSecond);
    const auto generation = world.dialed;
    bytes::Buffer frame(kHeaderSize + 4);
    if (kind == 0) world.session.lost(generation, {0, Rule::text_message}, world.now);
    if (kind == 1) world.session.receive(generation, std::span(frame).first(200), world.now);
    if (kind == 2) world.session.receive(generation, frame, world.now);
    if (kind == 3) world.answer(999, kNonReplicated, {});
    if (kind == 4) {
      frame[48] = 4, frame[49] = 1, frame[60] = 3;
      world.session.receive(generation, frame, world.now);
    }
    world.drain();
    INFO("kind " << kind);
    CHECK(world.cause().kind == Cause::Kind::protocol);
    CHECK(world.dropped == generation);
    CHECK(world.dialed == generation + 1);
  }
}

TEST_CASE("a server that breaks every connection after the login is not dialled in a loop") {
  World world;
  world.log_in();
  unsigned dials = 0;
  const auto end = world.now.mono_micros + 60 * kSecond;
  while (world.now.mono_micros < end) {
    if (world.state() == SessionState::dialing) {
      dials += 1;
      world.finish_login();
    } else if (world.state() == SessionState::ready) {
      world.session.lost(world.dialed, {0, Rule::text_message}, world.now);
      world.drain();
    } else {
      world.step();
    }
  }
  CHECK(dials <= 30);
  CHECK(dials >= 2);
}

TEST_CASE("late events of an older connection change nothing") {
  World world;
  world.log_in();
  const auto old = world.dialed;
  world.session.reconnect(world.now);
  world.drain();
  CHECK(world.dialed == old + 1);
  CHECK(world.dropped == old);
  world.session.lost(old, {1006, Rule::none}, world.now);
  world.session.opened(old, world.now);
  world.session.credentials(old, {"token", {}, {}}, world.now);
  world.session.credentials_failed(old, world.now);
  const bytes::Buffer frame(10);
  world.session.receive(old, frame, world.now);
  world.drain();
  CHECK(world.state() == SessionState::dialing);
  CHECK(world.dialed == old + 1);
  CHECK(world.session.generation() == old + 1);
}

TEST_CASE("there are never two live generations: a drop comes before every next dial") {
  World world;
  world.log_in();
  for (unsigned round = 0; round < 20; ++round) {
    world.session.reconnect(world.now);
    world.drain();
    CHECK(world.dropped == world.dialed - 1);
    if (round % 2 == 0) world.session.opened(world.dialed, world.now);
  }
}

TEST_CASE("reconnect works from every state") {
  for (unsigned kind = 0; kind < 6; ++kind) {
    World world;
    if (kind > 0) world.session.connect(world.now);
    if (kind > 1) world.session.opened(world.session.generation(), world.now);
    world.drain();
    if (kind == 3) world.session.lost(world.dialed, {1006, Rule::none}, world.now);
    if (kind == 4) world.give_password(), world.evict(9);
    if (kind == 5) world.finish_login_from_open();
    world.session.reconnect(world.now);
    world.drain();
    INFO("kind " << kind);
    CHECK(world.state() == SessionState::dialing);
    world.finish_login();
    CHECK(world.state() == SessionState::ready);
  }
}

TEST_CASE("pausing is a set of reasons, and closes the socket at once") {
  World world;
  world.log_in();
  const auto read = world.submit(100);
  const auto send = world.submit(101, Repeat::never);
  world.take_frames();
  world.session.pause("hidden", world.now);
  world.session.pause("frozen", world.now);
  world.session.pause("hidden", world.now);
  world.drain();
  CHECK(world.state() == SessionState::paused);
  CHECK(world.dropped == 1);
  CHECK(world.reply_to(send).reply.outcome == Outcome::unknown);
  world.session.resume("hidden", world.now);
  world.session.wake(Wake::visible, world.now);
  world.session.reconnect(world.now);
  world.drain();
  CHECK(world.state() == SessionState::paused);
  world.session.resume("frozen", world.now);
  world.drain();
  CHECK(world.state() == SessionState::dialing);
  world.finish_login();
  CHECK(world.take_frames().size() == 1);
  CHECK_FALSE(world.replied(read));
}

TEST_CASE("resuming does not undo needs-auth or close") {
  World world;
  world.open();
  world.give_password();
  world.evict(9);
  world.session.pause("hidden", world.now);
  world.session.resume("hidden", world.now);
  world.drain();
  CHECK(world.state() == SessionState::needs_auth);
  world.session.close(world.now);
  world.session.pause("hidden", world.now);
  world.session.resume("hidden", world.now);
  world.session.reconnect(world.now);
  world.session.connect(world.now);
  world.drain();
  CHECK(world.state() == SessionState::closed);
  CHECK_FALSE(world.session.poll_deadline().has_value());
}

TEST_CASE("close answers everything and for ever") {
  World world;
  world.log_in();
  const auto sent = world.submit(101, Repeat::never);
  world.take_frames();
  const auto queued = world.submit(100);
  world.session.close(world.now);
  world.drain();
  CHECK(world.reply_to(sent).reply.outcome == Outcome::unknown);
  CHECK(world.reply_to(queued).reply.outcome == Outcome::not_sent);
  CHECK(world.reply_to(world.submit(100)).reply.outcome == Outcome::not_sent);
  CHECK(world.dropped == 1);
}

TEST_CASE("a clock jump puts an open connection in doubt: an answer to the probe keeps it") {
  World world;
  world.log_in();
  world.sleep(3600 * kSecond);
  world.session.expire(world.now);
  world.drain();
  REQUIRE(world.state() == SessionState::ready);
  const auto probes = world.take_frames();
  REQUIRE(probes.size() == 1);
  CHECK(header_of(probes[0]).command_code == code::kPing);
  world.answer(header_of(probes[0]).request, kNonReplicated, {});
  world.live_for(10 * kSecond);
  CHECK(world.dialed == 1);
}

TEST_CASE("a clock jump and no answer within a second replaces the connection at once") {
  World world;
  world.log_in();
  world.live_for(6 * kSecond);
  const auto read = world.submit(100);
  world.take_frames();
  world.sleep(3600 * kSecond);
  world.session.wake(Wake::visible, world.now);
  world.drain();
  // What lay in a buffer from before the sleep proves nothing.
  if (!world.replied(read)) world.answer(read, kNonReplicated, {});
  world.run_for(kSecond);
  CHECK(world.state() == SessionState::dialing);
  CHECK(world.cause().kind == Cause::Kind::woke);
}

TEST_CASE("a late timer alone is noticed too") {
  World world;
  world.log_in();
  world.now.mono_micros += 120 * kSecond;
  world.now.wall_micros += 120 * kSecond;
  world.session.expire(world.now);
  world.drain();
  CHECK(world.state() == SessionState::ready);
  CHECK(world.take_frames().size() == 1);
  world.now.mono_micros += 120 * kSecond;
  world.now.wall_micros += 120 * kSecond;
  world.session.expire(world.now);
  world.drain();
  CHECK(world.state() == SessionState::dialing);
}

TEST_CASE("waking up while waiting dials at once; a busy caller fires one attempt only") {
  World world;
  world.session.connect(world.now);
  world.drain();
  const auto fail = [&] {
    world.session.lost(world.dialed, {1006, Rule::none}, world.now);
    world.drain();
  };
  fail();
  REQUIRE(world.state() == SessionState::waiting);
  world.session.wake(Wake::call, world.now);
  world.drain();
  CHECK(world.dialed == 2);
  fail();
  for (unsigned repeat = 0; repeat < 10; ++repeat) world.session.wake(Wake::call, world.now);
  world.drain();
  CHECK(world.dialed == 2);
  CHECK(world.state() == SessionState::waiting);
  world.session.wake(Wake::online, world.now);
  world.drain();
  CHECK(world.dialed == 3);
}

TEST_CASE("a thousand clients of a restarted server come back spread over ten seconds") {
  std::map<std::uint64_t, unsigned> per_second;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    World world(seed);
    world.log_in();
    world.live_for(6 * kSecond);
    const auto at = world.now.mono_micros;
    world.session.lost(world.dialed, {1006, Rule::none}, world.now);
    world.drain();
    REQUIRE(world.state() == SessionState::waiting);
    const auto wait = *world.dial_at - at;
    REQUIRE(wait <= 10 * kSecond);
    per_second[std::min<std::uint64_t>(wait / kSecond, 9)] += 1;
  }
  REQUIRE(per_second.size() == 10);
  for (const auto& [second, count] : per_second) {
    INFO("second " << second);
    CHECK(count >= 60);
    CHECK(count <= 140);
  }
}

TEST_CASE("the wait doubles to thirty seconds with full jitter") {
  std::vector<std::uint64_t> longest(5);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    World world(seed);
    world.session.connect(world.now);
    world.drain();
    for (auto& most : longest) {
      const auto at = world.now.mono_micros;
      world.session.lost(world.dialed, {1006, Rule::none}, world.now);
      world.drain();
      most = std::max(most, *world.dial_at - at);
      world.run_until(SessionState::dialing, 31 * kSecond);
    }
  }
  CHECK(longest[0] <= 10 * kSecond);
  CHECK(longest[0] >= 9 * kSecond);
  CHECK(longest[1] <= 20 * kSecond);
  CHECK(longest[1] >= 18 * kSecond);
  for (std::size_t index = 2; index < 5; ++index) {
    CHECK(longest[index] <= 30 * kSecond);
    CHECK(longest[index] >= 27 * kSecond);
  }
}

TEST_CASE("on loopback the first redial does not wait, and the next ones little") {
  SessionOptions options;
  options.loopback = true;
  World world(1, options);
  world.session.connect(world.now);
  world.drain();
  world.session.lost(world.dialed, {1006, Rule::none}, world.now);
  world.drain();
  CHECK(world.dialed == 2);
  world.session.lost(world.dialed, {1006, Rule::none}, world.now);
  world.drain();
  REQUIRE(world.state() == SessionState::waiting);
  CHECK(*world.dial_at - world.now.mono_micros <= 100'000);
  CHECK(*world.dial_at - world.now.mono_micros >= 50'000);
}

TEST_CASE("an answer of another operation or with a broken result section is malformed, not success") {
  World world;
  world.log_in();
  const auto wrong = world.submit(203, Repeat::never);
  world.take_frames();
  world.answer(1, 160, {});
  CHECK(world.reply_to(wrong).reply.outcome == Outcome::malformed);
  const auto broken = world.submit(203, Repeat::never);
  world.take_frames();
  world.answer(2, 130, {9, 9});
  CHECK(world.reply_to(broken).reply.outcome == Outcome::malformed);
  CHECK(world.reply_to(broken).reply.error.rule == Rule::result_section);
}

TEST_CASE("every prefix of every frame of a session ends that connection and nothing else") {
  World recorder;
  recorder.log_in();
  for (std::size_t length = 0; length < recorder.last_login_reply.size(); ++length) {
    World world;
    world.open();
    world.give_password();
    const std::vector<std::uint8_t> prefix(
        recorder.last_login_reply.begin(),
        recorder.last_login_reply.begin() + static_cast<std::ptrdiff_t>(length));
    world.session.receive(world.dialed, prefix, world.now);
    world.drain();
    if (world.state() != SessionState::waiting) FAIL("login reply cut at " << length);
    CHECK(world.dropped == 1);
  }
}

TEST_CASE("the context of a partition is in the header of a request, for servers of 0.12.2 alone") {
  const auto sent = [](Dialect dialect) {
    SessionOptions options;
    options.dialects = {dialect};
    World world(1, options);
    world.log_in();
    Request request{.command = 101, .repeat = Repeat::never, .body = {1}, .context = {0x1122334455, 77}};
    world.session.submit(std::move(request), world.now);
    const auto frames = world.take_frames();
    REQUIRE(frames.size() == 1);
    return header_of(frames[0]);
  };
  CHECK(sent(Dialect::v12).partition_incarnation == 0x1122334455);
  CHECK(sent(Dialect::v12).minimum_metadata_op == 77);
  CHECK(sent(Dialect::v12).owner_generation == 0);
  CHECK(sent(Dialect::s11).partition_incarnation == 0);
  CHECK(sent(Dialect::s11).minimum_metadata_op == 0);
}

TEST_CASE("what fell due while the machine slept does not end the connection that is dialled after it") {
  World world;
  world.log_in();
  const auto read = world.submit(201);
  world.take_frames();
  world.session.pause("hidden", world.now);
  world.drain();
  world.advance_to(world.now.mono_micros + 7200 * kSecond);
  world.session.resume("hidden", world.now);
  world.drain();
  const auto generation = world.dialed;
  CHECK(world.reply_to(read).reply.timed_out);
  world.finish_login();
  CHECK(world.dialed == generation);
}
