#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/tape.hpp"
#include "bytes/tape_map.hpp"
#include "client/client.hpp"
#include "client/reader_task.hpp"
#include "feed/log_server.hpp"
#include "iggy/frame.hpp"
#include "iggy/operation.hpp"

namespace tidemark::client::test {

inline const Surfaces& everything() {
  static const Surfaces all{agdx::whole_announce, &call_task, &managed_task, &publish_task,
                            &offset_for_time_task};
  return all;
}

// A client, a clock that only tests move, and a small scripted server on the other side of the wire.
struct World {
  explicit World(tape::Value options = {}) : client(everything(), options, {1, 2, 3, 4}) {}

  Client client;
  Now now{1'000'000'000, 1'764'500'000'000'000};
  tidemark::test::LogServer log;

  bool silent = false;                // the server accepts and never answers
  std::uint32_t refuse_login = 0;     // with this result code
  std::uint32_t swallow_command = 0;  // taking effect, and never answered

  std::uint32_t binds = 0;
  bool session_gone = false;

  std::uint32_t dialed = 0;
  std::vector<std::string> states;
  std::vector<Event> events;

  void collect() {
    while (auto event = client.event()) {
      const tape::Value value{event->tape};
      const auto type = value.get("type").text();
      if (type == "dial") {
        std::uint64_t generation = 0;
        value.get("generation").to_u64(generation);
        dialed = static_cast<std::uint32_t>(generation);
      }
      if (type == "connection") states.emplace_back(value.get("state").text());
      events.push_back(std::move(*event));
    }
  }

  // Frames go to the server and its answers come back until both sides are quiet.
  void serve() {
    for (bool any = true; any;) {
      any = false;
      std::vector<bytes::Buffer> frames;
      while (const auto out = client.transmit(now)) frames.emplace_back(out->frame.begin(), out->frame.end());
      for (const auto& frame : frames) any = answer(frame) || any;
      collect();
    }
  }
  void open() {
    collect();
    client.opened(dialed, now);
    serve();
  }
  void give_password(std::string_view password = "open sesame") {
    bytes::Buffer tape;
    tape::Writer out(tape);
    {
      tape::MapWriter map(out);
      map.text("username", "iggy");
      map.text("password", password);
    }
    client.credentials(dialed, tape::Value{tape}, now);
    serve();
  }
  void log_in() {
    client.connect(now);
    open();
    give_password();
  }
  void cut() {
    client.lost(dialed, {1006, Rule::none}, now);
    serve();
  }
  // To the end of `micros`, stopping at each deadline as a driver's timer would.
  void run_for(std::uint64_t micros) {
    const auto end = now.mono_micros + micros;
    for (auto at = client.deadline(); at && *at <= end; at = client.deadline()) {
      advance(std::max(*at, now.mono_micros));
      client.expire(now);
      serve();
    }
    advance(end);
  }
  // Dials and logs in again as often as it takes.
  void come_back() {
    for (int attempt = 0; attempt < 50 && (states.empty() || states.back() != "ready"); ++attempt) {
      const auto before = dialed;
      const auto at = client.deadline();
      if (!at) return;
      advance(std::max(*at, now.mono_micros));
      client.expire(now);
      serve();
      if (dialed != before) {
        open();
        give_password();
      }
    }
  }

  // The event of that type and ticket (or reader), if it came.
  tape::Value find(std::string_view type, std::string_view key, std::uint32_t number) const {
    for (const auto& event : events) {
      const tape::Value value{event.tape};
      std::uint64_t found = 0;
      if (value.get("type").text() == type && value.get(key).to_u64(found) && found == number) return value;
    }
    return {};
  }
  tape::Value result(std::uint32_t ticket) const { return find("result", "ticket", ticket); }
  tape::Value failure(std::uint32_t ticket) const { return find("failure", "ticket", ticket).get("error"); }
  std::size_t batches(std::uint32_t reader) const {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&](const Event& event) {
      return event.kind == Event::Kind::batch && event.reader == reader;
    }));
  }

 private:
  void advance(std::uint64_t mono) {
    now.wall_micros += mono - now.mono_micros;
    now.mono_micros = mono;
  }

  bool answer(const bytes::Buffer& frame) {
    iggy::Frame parsed;
    if (silent || iggy::Frame::parse(frame, SIZE_MAX, parsed)) return false;
    const auto header = parsed.request();
    const bool v12 = iggy::is_v12(log.dialect);
    if (header.operation == iggy::kRegister) {
      const auto version = bytes::Reader(parsed.body()).u32();
      return version == iggy::version_of(log.dialect) ? login(header) : evict_version();
    }
    Request request;
    request.command =
        header.operation == iggy::kNonReplicated ? header.command_code : command_of(header.operation);
    request.body.assign(parsed.body().begin(), parsed.body().end());
    request.context = {header.partition_incarnation, header.minimum_metadata_op};
    if (request.command == iggy::code::kPing) return reply(header, 0, {});
    if (request.command == iggy::code::kBindSession) return v12 ? bind(header) : reply(header, 3, {});
    if (request.command == iggy::code::kCreateTopic) return create_topic(header);
    auto answered = log.answer(request);
    if (request.command == swallow_command) return false;
    return reply(header, answered.code, answered.payload);
  }
  static std::uint32_t command_of(std::uint8_t operation) {
    for (std::uint32_t code : {101U, 121U, 122U, 202U, 203U, 302U, 303U, 402U, 403U})
      if (iggy::operation_of(code) == operation) return code;
    return 0;
  }
  bool login(const iggy::RequestHeader& header) {
    bytes::Buffer body;
    bytes::Writer out(body);
    if (refuse_login != 0) {
      out.u32(1), out.u32(0), out.u32(refuse_login);
    } else {
      out.u32(0), out.u32(1), out.u64(42), out.u32(iggy::kVersion11), out.u8(3), out.text("dev");
    }
    return reply(header, 0, body);
  }
  bool bind(const iggy::RequestHeader& header) {
    ++binds;
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(1), out.u64(42), out.u32(iggy::kVersion12), out.u8(3), out.text("dev");
    return reply(header, session_gone ? 40 : 0, body);
  }
  bool evict_version() {
    bytes::Buffer bytes(iggy::kHeaderSize);
    const auto version = iggy::version_of(log.dialect);
    bytes[49] = 1, bytes[60] = 13, bytes[255] = 14;
    std::memcpy(bytes.data() + 144, &version, 4);
    std::memcpy(bytes.data() + 148, &version, 4);
    client.receive(dialed, bytes, now);
    collect();
    return true;
  }
  bool create_topic(const iggy::RequestHeader& header) {
    bytes::Buffer body;
    bytes::Writer out(body);
    if (log.topic) {
      out.u32(1), out.u32(0), out.u32(2013);
    } else {
      log.create_topic(1);
      out.u32(0);
      Request get;
      get.command = 300;
      out.bytes(log.answer(get).payload);
    }
    if (swallow_command == iggy::code::kCreateTopic) return false;
    return reply(header, 0, body);
  }
  bool reply(const iggy::RequestHeader& to, std::uint32_t status, const bytes::Buffer& body) {
    bytes::Buffer bytes(iggy::kHeaderSize);
    const auto size = static_cast<std::uint32_t>(iggy::kHeaderSize + (status == 0 ? body.size() : 0));
    std::memcpy(bytes.data() + 48, &size, 4);
    bytes[60] = 8;
    std::memcpy(bytes.data() + 200, &to.request, 8);
    bytes[208] = to.operation;
    std::memcpy(bytes.data() + 216, &status, 4);
    if (status == 0) bytes.insert(bytes.end(), body.begin(), body.end());
    client.receive(dialed, bytes, now);
    collect();
    return true;
  }
};

}  // namespace tidemark::client::test
