#include <catch2/catch_amalgamated.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "agdx/change_columns.hpp"
#include "agdx/change_record.hpp"
#include "cbor/writer.hpp"

using namespace tidemark;
using nlohmann::json;

namespace {

struct Vector {
  std::string name;
  json sidecar;
  bytes::Buffer payload;
};

std::vector<Vector> vectors() {
  std::vector<Vector> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TIDEMARK_VECTORS) / "agdx")) {
    const auto name = entry.path().stem().string();
    if (!name.starts_with("change_") || entry.path().extension() != ".json") continue;
    std::ifstream bin(std::filesystem::path(entry.path()).replace_extension(".bin"), std::ios::binary);
    found.push_back(
        {name, json::parse(std::ifstream(entry.path())), bytes::Buffer(std::istreambuf_iterator(bin), {})});
  }
  return found;
}

// In an allocation of exactly its size, so that a sanitizer sees every byte read beyond it.
struct Exact {
  explicit Exact(std::span<const std::uint8_t> from)
      : data(new std::uint8_t[from.size()]), size(from.size()) {
    std::copy(from.begin(), from.end(), data.get());
  }
  std::span<const std::uint8_t> span() const { return {data.get(), size}; }
  std::unique_ptr<std::uint8_t[]> data;
  std::size_t size;
};

bytes::Buffer encode(const agdx::ChangeRecord& record) {
  bytes::Buffer body;
  cbor::Writer out(body);
  out.map(record.has_stream ? 7 : 6);
  out.text("v"), out.u64(record.v), out.text("index"), out.text(record.index);
  out.text("partition_id"), out.u64(record.partition_id), out.text("from_offset"),
      out.u64(record.from_offset);
  out.text("to_offset"), out.u64(record.to_offset), out.text("rows"), out.u64(record.rows);
  if (record.has_stream) out.text("stream"), out.text(record.stream);
  return body;
}

bool same(const agdx::ChangeRecord& record, const agdx::ChangeColumns& columns, std::size_t at,
          const agdx::NameTable& names) {
  return names.at(columns.index[at]) == record.index && columns.partition[at] == record.partition_id &&
         columns.from[at] == record.from_offset && columns.to[at] == record.to_offset &&
         columns.rows[at] == record.rows &&
         (record.has_stream
              ? columns.stream[at] != agdx::NameTable::none && names.at(columns.stream[at]) == record.stream
              : columns.stream[at] == agdx::NameTable::none);
}

}  // namespace

TEST_CASE("columns and single records agree on every change vector, and on the reader's outcome") {
  const auto all = vectors();
  REQUIRE(all.size() >= 36);
  for (const auto& vector : all) {
    INFO(vector.name);
    const Exact payload(vector.payload);
    agdx::ChangeRecord record;
    Error error;
    const bool decoded = agdx::decode_change_record(payload.span(), record, error);
    CHECK(decoded == vector.sidecar["outcome"].get<std::string>().starts_with("valid"));
    if (!decoded) CHECK(rule_name(error.rule) == vector.sidecar["rule"].get<std::string>());

    agdx::NameTable names;
    agdx::ChangeDecoder decoder(names);
    agdx::ChangeColumns columns;
    agdx::SkipCounts skipped;
    const agdx::FeedPayload given{7, static_cast<std::uint32_t>(payload.size), 8, 9, payload.data.get()};
    decoder.decode({&given, 1}, columns, skipped);
    const auto outcome = vector.sidecar["reader_outcome"].get<std::string>();
    CHECK(columns.count == (outcome == "delivered" ? 1U : 0U));
    CHECK(skipped.malformed == (outcome == "skipped_malformed" ? 1U : 0U));
    CHECK(skipped.version == (outcome == "skipped_version" ? 1U : 0U));
    if (columns.count == 0) continue;
    CHECK(same(record, columns, 0, names));
    CHECK(columns.feed_partition[0] == 7);
    CHECK(columns.offset[0] == 8);
    CHECK(columns.timestamp[0] == 9);
  }
}

TEST_CASE("every prefix of every change vector is refused, and nothing beyond it is read") {
  for (const auto& vector : vectors()) {
    if (!vector.sidecar["outcome"].get<std::string>().starts_with("valid")) continue;
    INFO(vector.name);
    for (std::size_t length = 0; length < vector.payload.size(); ++length) {
      const Exact cut(std::span(vector.payload).first(length));
      agdx::ChangeRecord record;
      Error error;
      CHECK_FALSE(agdx::decode_change_record(cut.span(), record, error));
      CHECK(error.rule == Rule::truncated);
      CHECK(error.position <= length);
    }
  }
}

TEST_CASE("a changed byte gives the same answer by columns and by record") {
  for (const auto& vector : vectors()) {
    if (vector.payload.size() > 100) continue;
    for (std::size_t at = 0; at < vector.payload.size(); ++at) {
      for (unsigned flip = 1; flip < 256; ++flip) {
        auto changed = vector.payload;
        changed[at] = static_cast<std::uint8_t>(changed[at] ^ flip);
        const Exact payload(changed);
        agdx::ChangeRecord record;
        Error error;
        const bool decoded = agdx::decode_change_record(payload.span(), record, error);
        agdx::NameTable names;
        agdx::ChangeDecoder decoder(names);
        agdx::ChangeColumns columns;
        agdx::SkipCounts skipped;
        const agdx::FeedPayload given{0, static_cast<std::uint32_t>(payload.size), 0, 0, payload.data.get()};
        decoder.decode({&given, 1}, columns, skipped);
        const bool agree = columns.count == (decoded && record.v == 1 ? 1U : 0U) &&
                           skipped.malformed == (decoded ? 0U : 1U) &&
                           (columns.count == 0 || same(record, columns, 0, names));
        if (!agree) FAIL(vector.name << " byte " << at << " flip " << flip);
      }
    }
  }
}

TEST_CASE("the fast path and any other order of keys mean the same") {
  agdx::ChangeRecord record;
  record.v = 1;
  record.index = "stream:acme/orders_v1";
  record.partition_id = 70'000;
  record.from_offset = UINT64_MAX - 1;
  record.to_offset = UINT64_MAX;
  record.rows = 300;
  record.has_stream = true;
  record.stream = "acme";
  const auto canonical = encode(record);
  bytes::Buffer reversed;
  cbor::Writer out(reversed);
  out.map(7);
  out.text("stream"), out.text("acme"), out.text("rows"), out.u64(300), out.text("to_offset"),
      out.u64(UINT64_MAX);
  out.text("from_offset"), out.u64(UINT64_MAX - 1), out.text("partition_id"), out.u64(70'000);
  out.text("index"), out.text(record.index), out.text("v"), out.u64(1);
  for (const auto& payload : {canonical, reversed}) {
    agdx::ChangeRecord read;
    Error error;
    REQUIRE(agdx::decode_change_record(payload, read, error));
    CHECK(encode(read) == canonical);
  }
}

TEST_CASE("an index filter counts readable foreign records apart from broken ones and names none of them") {
  agdx::NameTable names;
  agdx::ChangeDecoder decoder(names);
  decoder.only_index("mine");
  agdx::ChangeRecord record;
  record.v = 1;
  record.index = "mine";
  const auto mine = encode(record);
  record.index = "other";
  const auto other = encode(record);
  record.index = "\xFF\xFE";
  const auto broken = encode(record);
  bytes::Buffer run;
  std::vector<std::uint32_t> starts{0};
  for (const auto& payload : {mine, other, broken, mine}) {
    run.insert(run.end(), payload.begin(), payload.end());
    starts.push_back(static_cast<std::uint32_t>(run.size()));
  }
  agdx::ChangeColumns columns;
  agdx::SkipCounts skipped;
  decoder.decode_run(run, starts, columns, skipped);
  CHECK(columns.count == 2);
  CHECK(skipped.other_index == 1);
  CHECK(skipped.malformed == 1);
  CHECK(names.size() == 1);
}

TEST_CASE("names keep their numbers while the table grows") {
  agdx::NameTable names;
  for (std::uint32_t n = 0; n < 5'000; ++n) CHECK(names.intern("index_" + std::to_string(n)) == n);
  for (std::uint32_t n = 0; n < 5'000; ++n)
    CHECK(names.at(names.intern("index_" + std::to_string(n))) == "index_" + std::to_string(n));
  CHECK(names.size() == 5'000);
  CHECK(names.find("absent") == agdx::NameTable::none);
  CHECK(names.intern("") == 5'000);
  CHECK(names.at(5'000).empty());
}
