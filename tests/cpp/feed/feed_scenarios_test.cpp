#include <catch2/catch_amalgamated.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cbor/writer.hpp"
#include "feed/log_server.hpp"
#include "feed/reader.hpp"

using namespace tidemark;
using nlohmann::json;

namespace {

bytes::Buffer from_hex(const std::string& hex) {
  bytes::Buffer out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return out;
}

bytes::Buffer change(const std::string& index, std::uint32_t partition, std::uint64_t from, std::uint64_t to,
                     std::uint32_t rows) {
  bytes::Buffer body;
  cbor::Writer out(body);
  out.map(6);
  out.text("v"), out.u64(1), out.text("index"), out.text(index), out.text("partition_id"), out.u64(partition);
  out.text("from_offset"), out.u64(from), out.text("to_offset"), out.u64(to), out.text("rows"), out.u64(rows);
  return body;
}

void append(test::StoredPartition& partition, const json& record) {
  partition.append(from_hex(record.at("payload_hex")), record.at("timestamp_micros").get<std::uint64_t>(),
                   record.at("offset").get<std::uint64_t>());
}

void fill(test::LogServer& server, const json& scenario) {
  server.reply_cap = scenario.value("reply_cap", SIZE_MAX);
  if (!scenario.value("topic_exists", true)) return;
  const auto partitions = scenario.value("partitions", json::array());
  server.create_topic(std::max<std::uint32_t>(1, static_cast<std::uint32_t>(partitions.size())));
  for (std::uint32_t id = 0; id < partitions.size(); ++id)
    for (const auto& record : partitions[id]) append(server.partition(id), record);
  if (!scenario.contains("generate")) return;
  const auto& generate = scenario["generate"];
  auto& partition = server.partition(generate.at("partition"));
  std::uint64_t at = 0;
  for (; at < generate.at("count").get<std::uint64_t>(); ++at)
    partition.append(change(generate.at("index"), 0, at, at, 1), 1'000 + at / 7);
  for (const auto& then : generate.value("then", json::array()))
    partition.append(change(then.at("index"), then.at("partitionId"),
                            std::stoull(then.at("fromOffset").get<std::string>()),
                            std::stoull(then.at("toOffset").get<std::string>()), then.at("rows")),
                     1'000 + at++);
}

json delivered(const feed::ReaderBatch& batch, const agdx::NameTable& names) {
  auto out = json::array();
  for (std::size_t at = 0; at < batch.changes.count; ++at)
    out.push_back({{"index", names.at(batch.changes.index[at])},
                   {"partitionId", batch.changes.partition[at]},
                   {"fromOffset", std::to_string(batch.changes.from[at])},
                   {"toOffset", std::to_string(batch.changes.to[at])},
                   {"rows", batch.changes.rows[at]}});
  return out;
}

json offsets(const feed::Positions& positions) {
  auto out = json::array();
  for (const auto& position : positions) out.push_back(position.next);
  return out;
}

void check(const json& expected, const json& records, feed::Reader& reader) {
  if (expected.contains("records")) CHECK(records == expected["records"]);
  if (expected.contains("count")) CHECK(records.size() == expected["count"].get<std::size_t>());
  CHECK(offsets(reader.positions()) == expected.at("offsets"));
  if (!expected.contains("skipped")) return;
  CHECK(reader.batch().skipped.malformed == expected["skipped"]["malformed"]);
  CHECK(reader.batch().skipped.version == expected["skipped"]["version"]);
  CHECK(reader.batch().skipped.other_index == expected["skipped"]["otherIndex"]);
}

}  // namespace

TEST_CASE("the watch reader does what every feed scenario says") {
  const std::filesystem::path folder = std::filesystem::path(TIDEMARK_VECTORS) / "agdx" / "scenarios";
  std::size_t ran = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("feed_")) continue;
    DYNAMIC_SECTION(name) {
      const auto scenario = json::parse(std::ifstream(entry.path()));
      test::LogServer server;
      fill(server, scenario);
      agdx::NameTable names;
      feed::ReaderOptions options{.stream = "_agdx",
                                  .topic = "changes",
                                  .index = scenario.value("index", ""),
                                  .batch = scenario.value("batch", 1000U),
                                  .identity = {}};
      if (scenario.contains("from_offsets")) {
        feed::Positions positions;
        for (const auto& offset : scenario["from_offsets"])
          positions.push_back(
              {static_cast<std::uint32_t>(positions.size()), offset.get<std::uint64_t>(), false});
        options.from = positions;
      }
      feed::Reader reader(options, names);
      test::Drive drive(server);
      const auto poll = [&] {
        REQUIRE(reader.read(0, drive.now));
        std::optional<feed::ReadOutcome> outcome;
        drive.run(reader, [&] { return (outcome = reader.poll_outcome()).has_value(); });
        REQUIRE(outcome == feed::ReadOutcome::batch);
        return delivered(reader.batch(), names);
      };
      for (const auto& step : scenario.at("steps")) {
        if (step.contains("create_topic")) server.create_topic(step["create_topic"].at("partitions"));
        if (step.contains("poll")) check(step["poll"], poll(), reader);
        if (!step.contains("stream")) continue;
        auto all = json::array();
        for (bool moved = true; moved;) {
          const auto before = reader.positions();
          const auto records = poll();
          all.insert(all.end(), records.begin(), records.end());
          moved = !records.empty() || before != reader.positions();
        }
        check(step["stream"], all, reader);
      }
    }
    ++ran;
  }
  CHECK(ran >= 8);
}
