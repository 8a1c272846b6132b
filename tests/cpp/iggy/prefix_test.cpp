#include <catch2/catch_amalgamated.hpp>

#include "golden.hpp"
#include "iggy/command/command.hpp"
#include "iggy/defaults.hpp"
#include "iggy/message_batch.hpp"
#include "iggy/operation.hpp"
#include "iggy/reply.hpp"

using namespace tidemark;
using namespace tidemark::iggy;
using namespace tidemark::iggy::test;

namespace {

Dialect dialect_of(const Golden& vector) {
  return vector.sidecar["protocol"] == "0.12.2" ? Dialect::v12 : Dialect::s11;
}

Error decode_body(const Golden& vector, const Frame& frame, std::span<const std::uint8_t> body) {
  const std::uint32_t command = vector.sidecar.value("command_code", 0U);
  bytes::Buffer tape_bytes;
  tape::Writer out(tape_bytes);
  if (frame.kind() == FrameKind::request) return decode_request(command, body, dialect_of(vector), out);
  const auto answer = read_answer(frame.reply(), body);
  if (answer.error || !answer.ok) return answer.error;
  return decode_reply(command, answer.payload, dialect_of(vector), out);
}

}  // namespace

TEST_CASE("every prefix of every frame is refused as a frame") {
  unsigned frames = 0;
  for (const auto& vector : all_golden()) {
    if (vector.sidecar["scope"] != "frame") continue;
    frames += 1;
    for (std::size_t length = 0; length < vector.bytes.size(); ++length) {
      const auto prefix = exactly(std::span(vector.bytes).first(length));
      Frame frame;
      const auto error = Frame::parse(prefix, defaults::kMaxFrame, frame);
      if (error.rule != (length < kHeaderSize ? Rule::truncated : Rule::frame_size))
        FAIL(vector.name << " cut at " << length << ": " << rule_name(error.rule));
    }
  }
  CHECK(frames > 290);
}

TEST_CASE("a prefix of a body never decodes to the whole body's value and never reads on") {
  unsigned bodies = 0;
  for (const auto& vector : all_golden()) {
    Frame frame;
    if (vector.sidecar["scope"] != "frame" || Frame::parse(vector.bytes, SIZE_MAX, frame)) continue;
    if (frame.kind() == FrameKind::eviction || frame.body().empty()) continue;
    bodies += 1;
    bytes::Buffer whole;
    for (std::size_t length = 0; length < frame.body().size(); ++length) {
      const auto prefix = exactly(frame.body().first(length));
      const auto error = decode_body(vector, frame, prefix);
      if (!error)
        continue;  // an options block or a list without a count may end early: fewer entries, no error
      if (error.position > length)
        FAIL(vector.name << " cut at " << length << ": error at " << error.position);
    }
  }
  CHECK(bodies > 150);
}

TEST_CASE("bodies of fixed shape refuse every prefix") {
  for (const auto* name :
       {"p11_login_reply_ok", "s11_create_topic_reply_ok", "p12_get_topic_reply", "p12_fetch_request",
        "s11_get_group_reply", "p12_get_cluster_metadata_reply", "p11_send_two_request",
        "p11_store_offset_request", "p12_poll_deferred_request", "p12_partition_route_reply",
        "s11_get_poll_routing_reply", "p12_bind_session_request", "s11_describe_options_reply"}) {
    const auto vector = golden(name);
    Frame frame;
    REQUIRE_FALSE(Frame::parse(vector.bytes, SIZE_MAX, frame));
    // The empty body of a read or login is a meaning of its own.
    for (std::size_t length = 1; length < frame.body().size(); ++length) {
      INFO(name << " cut at " << length);
      CHECK(decode_body(vector, frame, exactly(frame.body().first(length))));
    }
  }
}

TEST_CASE("a poll reply cut anywhere hands out only whole messages and then an error") {
  for (const auto* name :
       {"p11_poll_reply_multi_batch", "p12_poll_reply_sliced", "p11_live_13_poll_all_reply"}) {
    const auto vector = golden(name);
    Frame frame;
    REQUIRE_FALSE(Frame::parse(vector.bytes, SIZE_MAX, frame));
    const auto dialect = dialect_of(vector);
    for (const bool verify : {true, false}) {
      for (std::size_t length = 0; length < frame.body().size(); ++length) {
        const auto prefix = exactly(frame.body().first(length));
        PollReply reply(prefix, dialect, verify);
        PolledMessage message;
        std::uint32_t count = 0;
        while (reply.next(message)) count += 1;
        INFO(name << " cut at " << length);
        CHECK(reply.error());
        CHECK(count <= reply.count());
      }
    }
  }
}

TEST_CASE("a body with any one byte flipped is read within bounds") {
  for (const auto& vector : all_golden()) {
    Frame frame;
    if (vector.sidecar["scope"] != "frame" || Frame::parse(vector.bytes, SIZE_MAX, frame)) continue;
    if (frame.body().size() > 1000) continue;
    for (std::size_t at = 0; at < frame.body().size(); ++at) {
      for (const auto flip : std::initializer_list<std::uint8_t>{0x01, 0x80, 0xFF}) {
        auto body = exactly(frame.body());
        body[at] ^= flip;
        (void)decode_body(vector, frame, body);
      }
    }
  }
  SUCCEED("the sanitizers are the judges");
}
