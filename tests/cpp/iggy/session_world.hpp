#pragma once

#include <algorithm>
#include <catch2/catch_amalgamated.hpp>
#include <map>
#include <string_view>
#include <vector>

#include "bytes/reader.hpp"
#include "iggy/frame.hpp"
#include "iggy/operation.hpp"
#include "iggy/session.hpp"

namespace tidemark::iggy::test {

inline constexpr std::uint64_t kSecond = 1'000'000;

inline RequestHeader header_of(const bytes::Buffer& bytes) {
  Frame frame;
  REQUIRE_FALSE(Frame::parse(bytes, SIZE_MAX, frame));
  return frame.request();
}

inline bool contains(std::span<const std::uint8_t> bytes, std::string_view text) {
  return bytes::as_text(bytes).find(text) != std::string_view::npos;
}

// A session, a clock that only tests move, and the other side of the wire.
struct World {
  explicit World(std::uint64_t seed = 1, SessionOptions options = {})
      : session(std::move(options), {seed, seed * 7919, 3, 4}) {}

  Session session;
  Now now{1'000 * kSecond, 1'764'500'000 * kSecond};

  // What came out so far.
  std::uint32_t dialed = 0;
  std::uint32_t asked = 0;
  std::uint32_t dropped = 0;
  std::uint32_t lines_held = 0;
  std::optional<std::uint64_t> dial_at;
  Cause last_cause;
  std::map<Ticket, SessionEvent> replies;
  std::map<Ticket, bytes::Buffer> payloads;
  bytes::Buffer frame;  // the last one sent
  bytes::Buffer last_login_reply;

  SessionState state() {
    drain();
    return session.state();
  }
  const Cause& cause() {
    drain();
    return last_cause;
  }

  void drain() {
    while (auto event = session.poll_event()) {
      switch (event->type) {
        case SessionEvent::Type::state:
          if (event->cause.kind != Cause::Kind::none) last_cause = event->cause;
          dial_at = event->dial_at_micros;
          break;
        case SessionEvent::Type::dial:
          CHECK(event->generation == dialed + 1);
          dialed = event->generation;
          break;
        case SessionEvent::Type::line_held: ++lines_held; break;
        case SessionEvent::Type::credentials: asked = event->generation; break;
        case SessionEvent::Type::drop: dropped = event->generation; break;
        case SessionEvent::Type::reply:
          CHECK_FALSE(replies.contains(event->ticket));
          payloads[event->ticket].assign(event->reply.payload.begin(), event->reply.payload.end());
          replies[event->ticket] = *event;
          break;
      }
    }
  }

  std::vector<bytes::Buffer> take_frames() {
    std::vector<bytes::Buffer> frames;
    while (auto out = session.poll_transmit(now)) {
      CHECK(out->generation == session.generation());
      frames.emplace_back(out->frame.begin(), out->frame.end());
      frame = frames.back();
    }
    drain();
    return frames;
  }

  Frame sent_frame() const {
    Frame parsed;
    REQUIRE_FALSE(Frame::parse(frame, SIZE_MAX, parsed));
    return parsed;
  }

  // To the next deadline, as a driver's timer would.
  void step() {
    const auto deadline = session.poll_deadline();
    REQUIRE(deadline.has_value());
    advance_to(std::max(*deadline, now.mono_micros));
    session.expire(now);
    drain();
  }
  void run_for(std::uint64_t micros) {
    const auto end = now.mono_micros + micros;
    for (auto deadline = session.poll_deadline(); deadline && *deadline <= end;
         deadline = session.poll_deadline())
      step();
    advance_to(end);
    session.expire(now);
    drain();
  }
  void run_until(SessionState wanted, std::uint64_t at_most) {
    const auto end = now.mono_micros + at_most;
    while (session.state() != wanted && now.mono_micros <= end) step();
    drain();
    REQUIRE(session.state() == wanted);
  }
  // As run_for, with a server that answers pings.
  void live_for(std::uint64_t micros) {
    const auto end = now.mono_micros + micros;
    while (now.mono_micros < end) {
      run_for(std::min(kSecond, end - now.mono_micros));
      for (const auto& sent : take_frames())
        if (header_of(sent).command_code == code::kPing) answer(header_of(sent).request, kNonReplicated, {});
    }
  }
  // The monotonic clock stands still while a machine sleeps; the wall clock does not.
  void sleep(std::uint64_t micros) { now.wall_micros += micros; }
  void advance_to(std::uint64_t mono) {
    now.wall_micros += mono - now.mono_micros;
    now.mono_micros = mono;
  }

  Ticket submit(std::uint32_t command, Repeat repeat = Repeat::freely, std::uint64_t timeout = 30 * kSecond) {
    Request request;
    request.command = command;
    request.repeat = repeat;
    request.timeout_micros = timeout;
    request.body = {1, 2, 3};
    const auto ticket = session.submit(std::move(request), now);
    drain();
    return ticket;
  }
  bool replied(Ticket ticket) {
    drain();
    return replies.contains(ticket);
  }
  const SessionEvent& reply_to(Ticket ticket) {
    drain();
    REQUIRE(replies.contains(ticket));
    return replies[ticket];
  }
  const bytes::Buffer& payload_of(Ticket ticket) {
    reply_to(ticket);
    return payloads[ticket];
  }
  // True while neither a frame nor the reply has come.
  bool frames_or_reply(Ticket ticket) { return take_frames().empty() && !replied(ticket); }

  void open() {
    session.connect(now);
    drain();
    session.opened(dialed, now);
    drain();
  }
  void log_in() {
    session.connect(now);
    finish_login();
  }
  void finish_login(std::uint64_t session_number = 42) {
    drain();
    session.opened(dialed, now);
    finish_login_from_open(session_number);
  }
  void finish_login_from_open(std::uint64_t session_number = 42) {
    give_password();
    reply_login(session_number);
    REQUIRE(state() == SessionState::ready);
  }
  void give_password() {
    drain();
    session.credentials(session.generation(), {{}, "iggy", "open sesame"}, now);
    REQUIRE(take_frames().size() == 1);
  }
  void reply_login(std::uint64_t session_number = 42) {
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(0);
    out.u32(1);
    out.u64(session_number);
    out.u32(kVersion11);
    out.u8(3);
    out.text("dev");
    last_login_reply = reply_frame(0, kRegister, 0, body);
    session.receive(session.generation(), last_login_reply, now);
    drain();
  }
  void reply_login_code(std::uint8_t code) { answer(0, kRegister, {1, 0, 0, 0, 0, 0, 0, 0, code, 0, 0, 0}); }

  void answer(std::uint64_t number, std::uint8_t operation, const bytes::Buffer& body) {
    const auto bytes = reply_frame(number, operation, 0, body);
    session.receive(session.generation(), bytes, now);
    drain();
  }
  void answer_status(std::uint64_t number, std::uint32_t status, std::uint8_t operation) {
    const auto bytes = reply_frame(number, operation, status, {});
    session.receive(session.generation(), bytes, now);
    drain();
  }
  void evict(std::uint8_t reason, std::uint32_t highest = 0, std::uint32_t lowest = 0) {
    bytes::Buffer bytes(kHeaderSize);
    bytes[49] = 1;
    bytes[60] = 13;
    bytes[128] = 1;
    std::memcpy(bytes.data() + 144, &highest, 4);
    std::memcpy(bytes.data() + 148, &lowest, 4);
    bytes[255] = reason;
    session.receive(session.generation(), bytes, now);
    drain();
  }

  static bytes::Buffer reply_frame(std::uint64_t number, std::uint8_t operation, std::uint32_t status,
                                   const bytes::Buffer& body) {
    bytes::Buffer bytes(kHeaderSize);
    const auto size = static_cast<std::uint32_t>(kHeaderSize + body.size());
    std::memcpy(bytes.data() + 48, &size, 4);
    bytes[60] = 8;
    std::memcpy(bytes.data() + 200, &number, 8);
    bytes[208] = operation;
    std::memcpy(bytes.data() + 216, &status, 4);
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
  }
};

}  // namespace tidemark::iggy::test
