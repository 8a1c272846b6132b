#include <catch2/catch_amalgamated.hpp>

#include "feed/log_server.hpp"
#include "feed/publish.hpp"
#include "iggy/primitives.hpp"

using namespace tidemark;
using namespace tidemark::feed;

namespace {

// A map on a tape, entry by entry.
struct Map {
  bytes::Buffer buffer;
  tape::Writer out{buffer};
  std::size_t mark = out.open(tape::Tag::map);
  std::uint32_t count = 0;

  Map() = default;
  Map(const Map&) = delete;
  tape::Writer& at(std::string_view key) {
    ++count;
    out.key(key);
    return out;
  }
  tape::Value done() {
    out.close(mark, count);
    return tape::Value{buffer};
  }
};

struct Args : Map {
  explicit Args(std::string_view content_type = "json") {
    at("stream").text("s");
    at("topic").text("t");
    Map record;
    record.at("payload").bytes(bytes::as_bytes("{}"));
    record.at("content_type").text(content_type);
    const auto value = record.done().span();
    at("records");
    const auto records = out.open(tape::Tag::array);
    out.copy(value);
    out.copy(value);
    out.close(records, 2);
  }
};

Error refusal(Map& map) {
  Error error;
  CHECK_FALSE(publish_args(map.done(), error));
  return error;
}

}  // namespace

TEST_CASE("arguments of a publish have their defaults and take what is given") {
  Error error;
  Args plain;
  const auto defaults = publish_args(plain.done(), error);
  REQUIRE(defaults);
  CHECK(defaults->stream == "s");
  CHECK(defaults->records.size() == 2);
  CHECK(defaults->max_retries == 3);
  CHECK(defaults->timeout_micros == 60'000'000);
  CHECK(std::holds_alternative<Balanced>(defaults->partition));

  Args given;
  given.at("partition_id").f64(7);
  given.at("timeout_ms").f64(1500);
  given.at("retry_backoff_ms").f64(10);
  given.at("max_retries").f64(0);
  const auto taken = publish_args(given.done(), error);
  REQUIRE(taken);
  CHECK(std::get<std::uint32_t>(taken->partition) == 7);
  CHECK(taken->timeout_micros == 1'500'000);
  CHECK(taken->retry_backoff_micros == 10'000);
  CHECK(taken->max_retries == 0);
}

TEST_CASE("arguments of a publish that cannot be meant are refused by name") {
  Args both;
  both.at("partition_id").f64(1);
  both.at("partition_key").bytes(bytes::as_bytes("k"));
  CHECK(refusal(both).rule == Rule::partitioning);
  for (const double number : {-1.0, 0.5, 4294967296.0}) {
    Args partition;
    partition.at("partition_id").f64(number);
    CHECK(refusal(partition).path() == "partition_id");
    Args timeout;
    timeout.at("timeout_ms").f64(number);
    CHECK(refusal(timeout).path() == "timeout_ms");
  }
  Args retries;
  retries.at("max_retries").f64(1001);
  CHECK(refusal(retries).path() == "max_retries");
  Args no_such_type("no such type");
  const auto unknown_type = refusal(no_such_type);
  CHECK(unknown_type.rule == Rule::publish_headers);
  CHECK(unknown_type.path() == "records.0.content_type");
}

TEST_CASE("typed headers reach the log with their records") {
  test::LogServer server;
  server.create_topic(1);
  test::Drive drive{server};
  Partitions partitions;
  Random random{{1, 2, 3, 4}};
  Error error;
  Args map;
  auto made = publish_args(map.done(), error);
  REQUIRE(made);
  Publish publish(std::move(*made), partitions, random);
  drive.run(publish, [&] { return publish.done(); });
  REQUIRE_FALSE(publish.failure());
  REQUIRE(server.partition(0).records.size() == 2);
  for (const auto& record : server.partition(0).records) {
    CHECK(bytes::as_text(record.payload) == "{}");
    // kind, length and bytes of the key, then of the value: agdx.ct is a string, its value the uint8 1
    // (JSON).
    const std::string_view block = bytes::as_text(record.headers);
    CHECK(block.find("agdx.ct") != std::string_view::npos);
    REQUIRE_FALSE(block.empty());
    CHECK(block.back() == 1);
  }
}
