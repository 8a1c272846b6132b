#include <catch2/catch_amalgamated.hpp>

#include "golden.hpp"
#include "iggy/checksum.hpp"
#include "iggy/command/command.hpp"
#include "iggy/message_batch.hpp"
#include "iggy/operation.hpp"
#include "iggy/primitives.hpp"
#include "iggy/reply.hpp"
#include "iggy/result_code.hpp"

using namespace tidemark;
using namespace tidemark::iggy;
using namespace tidemark::iggy::test;

namespace {

const std::uint8_t kHello[] = {'h', 'e', 'l', 'l', 'o'};

bytes::Buffer batch_of(std::span<const OutgoingMessage> messages, Dialect dialect = Dialect::s11) {
  bytes::Buffer out;
  REQUIRE_FALSE(encode_batch(messages, dialect, out));
  return out;
}

bytes::Buffer poll_body(std::uint32_t count, std::span<const std::uint8_t> records) {
  bytes::Buffer body;
  bytes::Writer out(body);
  out.u32(3);
  out.u64(UINT64_MAX);
  out.u32(count);
  out.bytes(records);
  return body;
}

Rule rule_of(std::span<const std::uint8_t> batch, Dialect dialect = Dialect::s11, bool verify = true) {
  return BatchReader(batch, dialect, verify).error().rule;
}

}  // namespace

TEST_CASE("a send of two messages is the reference's bytes") {
  const auto vector = golden("p11_send_two_request");
  const OutgoingMessage messages[] = {
      {{1, 0}, 1764500000000000, bytes::as_bytes("first"), {}},
      {{2, 0}, 1764500000000250, bytes::as_bytes("second"), {}},
  };
  bytes::Buffer body;
  bytes::Writer out(body);
  REQUIRE(write_send_prefix(Identifier::named("orders"), Identifier::named("events"),
                            {PartitioningKind::partition_id, 0, {}}, 2, out));
  REQUIRE_FALSE(encode_batch(messages, Dialect::s11, body));
  CHECK(std::equal(body.begin(), body.end(), vector.bytes.begin() + kHeaderSize, vector.bytes.end()));
}

TEST_CASE("a poll is the reference's bytes") {
  const auto vector = golden("p11_poll_next_autocommit_request");
  bytes::Buffer body;
  bytes::Writer out(body);
  REQUIRE(write_poll({{ConsumerKind::consumer, Identifier::named("reader-a")},
                      Identifier::numeric(1),
                      Identifier::numeric(1),
                      0,
                      {StrategyKind::next, 0},
                      1000,
                      true},
                     out));
  CHECK(std::equal(body.begin(), body.end(), vector.bytes.begin() + kHeaderSize, vector.bytes.end()));
}

TEST_CASE("timestamp deltas count from the smallest timestamp, which need not come first") {
  const OutgoingMessage messages[] = {{{1, 0}, 500, kHello, {}}, {{2, 0}, 200, kHello, {}}};
  const auto batch = batch_of(messages);
  BatchReader reader(batch, Dialect::s11);
  REQUIRE_FALSE(reader.error());
  CHECK(reader.header().origin_timestamp == 200);
  BatchMessage message;
  REQUIRE(reader.next(message));
  CHECK(message.timestamp_delta == 300);
  CHECK(message.origin_timestamp == 500);
  REQUIRE(reader.next(message));
  CHECK(message.timestamp_delta == 0);
}

TEST_CASE("a batch that no server would take is refused before it is sent") {
  bytes::Buffer out;
  CHECK(encode_batch({}, Dialect::s11, out).rule == Rule::batch_empty);
  const OutgoingMessage spread[] = {{{1, 0}, 0, kHello, {}}, {{2, 0}, 4294967296, kHello, {}}};
  CHECK(encode_batch(spread, Dialect::s11, out).rule == Rule::timestamp_spread);
  const OutgoingMessage just[] = {{{1, 0}, 0, kHello, {}}, {{2, 0}, 4294967295, kHello, {}}};
  CHECK_FALSE(encode_batch(just, Dialect::s11, out));
  out.clear();
  const bytes::Buffer headers(100'001);
  const OutgoingMessage large[] = {{{1, 0}, 0, kHello, headers}};
  CHECK(encode_batch(large, Dialect::s11, out).rule == Rule::message_too_large);
  const Producer producer{1, 0, 0};
  CHECK(encode_batch(std::span(just).first(1), Dialect::s11, out, &producer).rule == Rule::producer_section);
  const Producer wrong{1ULL << 63, 0, 0};
  CHECK(encode_batch(std::span(just).first(1), Dialect::v12, out, &wrong).rule == Rule::producer_section);
  CHECK(out.empty());
}

TEST_CASE("a batch with a producer reads back in V12 and is refused in V11") {
  const OutgoingMessage messages[] = {{{1, 0}, 7, kHello, {}}};
  const Producer producer{INT64_MAX, INT16_MAX, INT32_MAX};
  bytes::Buffer batch;
  REQUIRE_FALSE(encode_batch(messages, Dialect::v12, batch, &producer));
  BatchReader reader(batch, Dialect::v12);
  REQUIRE_FALSE(reader.error());
  CHECK(reader.header().has_producer);
  CHECK(reader.header().producer.id == producer.id);
  CHECK(reader.header().producer.epoch == producer.epoch);
  CHECK(reader.header().producer.base_sequence == producer.base_sequence);
  CHECK(rule_of(batch, Dialect::s11) == Rule::batch_reserved);
}

TEST_CASE("each thing that can be wrong with a batch has its rule") {
  const OutgoingMessage messages[] = {{{1, 0}, 7, kHello, {}}, {{2, 0}, 8, kHello, {}}};
  const auto good = batch_of(messages);
  REQUIRE(rule_of(good) == Rule::none);
  const auto with = [&](std::size_t at, std::uint8_t value) {
    auto batch = good;
    batch[at] = value;
    return batch;
  };
  CHECK(rule_of(std::span(good).first(255)) == Rule::truncated);
  CHECK(rule_of(std::span(good).first(good.size() - 1)) == Rule::truncated);
  CHECK(rule_of(with(32, 255)) != Rule::none);
  CHECK(rule_of(with(33, 0)) == Rule::batch_length);
  CHECK(rule_of(with(48, 0)) == Rule::batch_empty);
  CHECK(rule_of(with(48, 3)) == Rule::count_mismatch);
  CHECK(rule_of(with(52, 1)) == Rule::batch_reserved);
  CHECK(rule_of(with(255, 1)) == Rule::batch_reserved);
  CHECK(rule_of(with(40, 0xEE)) == Rule::batch_checksum);
  CHECK(rule_of(with(0, 1)) == Rule::batch_checksum);
  CHECK(rule_of(with(good.size() - 1, 'x')) == Rule::message_checksum);
  CHECK(rule_of(with(good.size() - 1, 'x'), Dialect::s11, false) == Rule::none);
  CHECK(rule_of(with(256 + 36, 200)) == Rule::batch_length);
  CHECK(rule_of(with(256 + 53 + 24, 0)) == Rule::message_offset_delta);
}

TEST_CASE("offsets over 2^63 come through a poll reply, and never wrap") {
  const OutgoingMessage messages[] = {{{1, 0}, 7, kHello, {}}, {{2, 0}, 8, kHello, {}}};
  for (const std::uint64_t base : {(UINT64_C(1) << 53) + 1, UINT64_C(1) << 63, UINT64_MAX - 1}) {
    auto batch = batch_of(messages);
    std::memcpy(batch.data() + 8, &base, 8);
    PolledMessage message;
    const auto body = poll_body(2, batch);
    PollReply kept(body, Dialect::s11, false);
    REQUIRE(kept.next(message));
    CHECK(message.offset == base);
    REQUIRE(kept.next(message));
    CHECK(message.offset == base + 1);
    CHECK_FALSE(kept.next(message));
    CHECK_FALSE(kept.error());
    CHECK(kept.partition_id() == 3);
    CHECK(kept.current_offset() == UINT64_MAX);
  }
  auto batch = batch_of(messages);
  const std::uint64_t last = UINT64_MAX;
  std::memcpy(batch.data() + 8, &last, 8);
  CHECK(rule_of(batch, Dialect::s11, false) == Rule::message_offset_delta);
}

TEST_CASE("a poll reply whose count disagrees with its records is an error") {
  const OutgoingMessage messages[] = {{{1, 0}, 7, kHello, {}}};
  const auto body = poll_body(2, batch_of(messages));
  PollReply reply(body, Dialect::s11);
  PolledMessage message;
  CHECK(reply.next(message));
  CHECK_FALSE(reply.next(message));
  CHECK(reply.error().rule == Rule::count_mismatch);
}

TEST_CASE("a slice gives offsets by its deltas, not by position") {
  const auto vector = golden("p11_poll_reply_sliced");
  PollReply reply(std::span(vector.bytes).subspan(kHeaderSize), Dialect::s11);
  PolledMessage message;
  REQUIRE(reply.next(message));
  CHECK(message.offset == 11);
  CHECK(message.timestamp_micros == 1764500000005000);
  CHECK(message.origin_timestamp_micros == 1764500000000250);
}

TEST_CASE("result section: success, refusal and nonsense are told apart") {
  ReplyHeader header;
  header.operation = 130;
  const auto read = [&](std::initializer_list<std::uint8_t> body) {
    const bytes::Buffer copy(body);
    auto answer = read_answer(header, copy);
    answer.payload = {};
    return answer;
  };
  CHECK(read({0, 0, 0, 0}).ok);
  CHECK(read({1, 0, 0, 0, 0, 0, 0, 0, 0xF1, 3, 0, 0}).code == 1009);
  CHECK(read({}).error.rule == Rule::result_section);
  CHECK(read({1, 0, 0, 0, 0, 0, 0, 0, 0xF1, 3, 0}).error.rule == Rule::result_section);
  CHECK(read({0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}).error.rule == Rule::result_section);
  CHECK(read({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}).error.rule == Rule::result_section);
  header.status = 58;
  CHECK(read({}).code == 58);
  CHECK(read({0}).error.rule == Rule::result_section);
  header.status = 0;
  header.operation = kNonReplicated;
  CHECK(read({1, 0, 0, 0}).ok);
  header.operation = kRegister;
  CHECK(read({}).ok);
}

TEST_CASE("operation bytes of replies that differ from the request's are still answers") {
  CHECK(answers(64, operation_of(302)));
  CHECK(answers(65, operation_of(402)));
  CHECK(answers(132, operation_of(302)));
  CHECK_FALSE(answers(64, operation_of(402)));
  CHECK_FALSE(is_result_framed(138));
  CHECK_FALSE(is_result_framed(160));
  CHECK(is_result_framed(64));
  CHECK(is_result_framed(161));
  CHECK(operation_of(1'000'000) == kNonReplicated);
}

TEST_CASE("an empty reply to a read of one object is null, to a list an empty list") {
  for (const std::uint32_t command : {120U, 200U, 300U, 600U, 606U, 21U, 101U}) {
    bytes::Buffer bytes;
    tape::Writer out(bytes);
    CHECK_FALSE(decode_reply(command, {}, Dialect::s11, out));
    CHECK(tape::Value(bytes).is_null());
  }
  bytes::Buffer bytes;
  tape::Writer out(bytes);
  CHECK_FALSE(decode_reply(201, {}, Dialect::s11, out));
  CHECK(tape::Value(bytes).get("streams").count() == 0);
  bytes.clear();
  CHECK(decode_reply(12, {}, Dialect::s11, out).rule == Rule::truncated);
}

TEST_CASE("arguments that do not fit are refused with the field's path, and nothing is left behind") {
  bytes::Buffer args;
  tape::Writer out(args);
  const auto mark = out.open(tape::Tag::map);
  out.key("stream_id");
  out.text("orders");
  out.key("partitions_count");
  out.f64(1.5);
  out.key("name");
  out.text("events");
  out.close(mark, 3);
  bytes::Buffer body{1, 2, 3};
  const auto error = encode_request(302, tape::Value(args), Dialect::s11, body);
  CHECK(error.rule == Rule::argument);
  CHECK(error.path() == "partitions_count");
  CHECK(body.size() == 3);
  CHECK(encode_request(9999, {}, Dialect::s11, body).rule == Rule::argument);
  CHECK_FALSE(encode_request(1, {}, Dialect::s11, body));
}

TEST_CASE("create topic takes option values by their plain type") {
  bytes::Buffer args;
  tape::Writer out(args);
  const auto mark = out.open(tape::Tag::map);
  out.key("stream_id");
  out.f64(1);
  out.key("partitions_count");
  out.f64(3);
  out.key("name");
  out.text("events");
  out.key("options");
  const auto list = out.open(tape::Tag::array);
  const auto option = [&](std::string_view key, auto write) {
    const auto item = out.open(tape::Tag::map);
    out.key("key");
    out.text(key);
    out.key("value");
    write();
    out.close(item, 2);
  };
  option("durability", [&] { out.text("persisted"); });
  option("preallocate_segments", [&] { out.boolean(true); });
  option("message_expiry", [&] { out.u64(UINT64_MAX); });
  option("messages_required_to_save", [&] { out.f64(1000); });
  out.close(list, 4);
  out.close(mark, 4);
  bytes::Buffer body;
  REQUIRE_FALSE(encode_request(302, tape::Value(args), Dialect::s11, body));

  bytes::Buffer decoded;
  tape::Writer back(decoded);
  REQUIRE_FALSE(decode_request(302, body, Dialect::s11, back));
  auto item = tape::Value(decoded).get("options").first();
  for (const std::uint64_t kind : {2U, 3U, 12U, 11U}) {
    std::uint64_t found = 0;
    CHECK(item.get("value_kind").to_u64(found));
    CHECK(found == kind);
    item = item.next();
  }
}

TEST_CASE("a small command set leaves the others out") {
  bytes::Buffer body;
  CHECK(feed_commands().find(300) != nullptr);
  CHECK(feed_commands().find(10) == nullptr);
  CHECK(encode_request(10, {}, Dialect::s11, body, feed_commands()).rule == Rule::argument);
  CHECK(all_commands().find(10) != nullptr);
  CHECK(all_commands().find(300) != nullptr);
}

TEST_CASE("names are 1 to 255 bytes of UTF-8, and digits do not make a number") {
  bytes::Buffer bytes;
  bytes::Writer out(bytes);
  CHECK_FALSE(write_name("", out));
  CHECK_FALSE(write_name(std::string(256, 'n'), out));
  CHECK_FALSE(write_name("\xC3", out));
  CHECK_FALSE(write_name("\xED\xA0\x80", out));
  CHECK(bytes.empty());
  CHECK(write_name(std::string(255, 'n'), out));
  bytes.clear();
  CHECK(write_identifier(Identifier::named("42"), out));
  CHECK(bytes == bytes::Buffer{2, 2, '4', '2'});
}

TEST_CASE("the tables say what is terminal and what may be repeated") {
  CHECK(code_info(57).action == CodeAction::repeat_identical);
  CHECK(code_info(58).action == CodeAction::repeat);
  CHECK(code_info(59).action == CodeAction::read_back);
  CHECK_FALSE(retryable(code_info(59).action));
  CHECK_FALSE(retryable(code_info(2010).action));
  CHECK(code_info(2010).name == "TopicIdNotFound");
  CHECK(code_info(77777).name == "Unknown");
  for (std::uint8_t reason = 9; reason <= 11; ++reason)
    CHECK(eviction_info(reason).action == EvictionAction::ask_credentials);
  CHECK(eviction_info(200).action == EvictionAction::log_in);
  CHECK(eviction_info(14).name == "IncompatibleProtocol");
}
