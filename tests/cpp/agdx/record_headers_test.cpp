#include "agdx/record_headers.hpp"

#include <catch2/catch_amalgamated.hpp>

#include "agdx/managed_fixture.hpp"

using namespace tidemark;
using agdx::RecordHeader;
using nlohmann::json;

namespace {

Error headers_of(const json& options, std::vector<RecordHeader>& out) {
  const auto tape = agdx::test::tape_of(options);
  return agdx::record_headers(tape::Value{tape}, out);
}

std::string refused(const json& options) {
  std::vector<RecordHeader> out{{}};
  const auto error = headers_of(options, out);
  CHECK(out.empty());
  return error.rule == Rule::publish_headers ? std::string(error.path()) : std::string(rule_name(error.rule));
}

json described(const RecordHeader& header) {
  const auto& value = header.value;
  switch (header.kind) {
    case 9: return {{"key", header.key}, {"kind", "uint8"}, {"value", value.at(0)}};
    case 11: {
      std::uint32_t number = 0;
      REQUIRE(value.size() == 4);
      std::memcpy(&number, value.data(), 4);
      return {{"key", header.key}, {"kind", "uint32"}, {"value", number}};
    }
    case 3: return {{"key", header.key}, {"kind", "bool"}, {"value", value.at(0) == 1}};
    default:
      return {{"key", header.key}, {"kind", "text"}, {"value", std::string(value.begin(), value.end())}};
  }
}

}  // namespace

TEST_CASE("publish scenarios: the headers that a call means") {
  for (const auto* name : {"publish_json_headers", "publish_full_headers"}) {
    DYNAMIC_SECTION(name) {
      const auto scenario = agdx::test::scenario(name);
      const auto& call = scenario.at("call");
      json options;
      if (call.contains("json")) options["content_type"] = "json";
      if (call.contains("projectionRef")) options["projection_ref"] = call.at("projectionRef");
      if (call.contains("schemaId")) options["schema_id"] = call.at("schemaId");
      if (call.contains("inlinePayload")) options["inline_payload"] = call.at("inlinePayload");
      for (const auto& [from, to] : {std::pair{"index", "indexes"}, std::pair{"header", "headers"}})
        if (call.contains(from))
          for (const auto& [key, value] : call.at(from).items()) options[to].push_back({key, value});
      std::vector<RecordHeader> headers;
      REQUIRE_FALSE(headers_of(options, headers));
      json actual = json::array();
      for (const auto& header : headers) actual.push_back(described(header));
      CHECK(actual == scenario.at("expect").at("headers"));
    }
  }
}

TEST_CASE("headers against the rules are refused, naming the option") {
  CHECK(refused({{"content_type", "jsonn"}}) == "content_type");
  CHECK(refused({{"content_type", 256}}) == "content_type");
  CHECK(refused({{"projection_ref", ""}}) == "projection_ref");
  CHECK(refused({{"projection_ref", std::string(256, 'x')}}) == "projection_ref");
  CHECK(refused({{"schema_id", -1}}) == "schema_id");
  CHECK(refused({{"content_type", "arrow"}}) == "schema_fingerprint");
  CHECK(refused({{"content_type", "json"}, {"schema_fingerprint", {{"$bytes", std::vector<int>(32, 1)}}}}) ==
        "schema_fingerprint");
  CHECK(refused({{"content_type", "arrow"}, {"schema_fingerprint", {{"$bytes", std::vector<int>(31, 1)}}}}) ==
        "schema_fingerprint");
  CHECK(refused({{"indexes", {{"", "x"}}}}) == "indexes");
  CHECK(refused({{"indexes", {{"agdx.idx.a", "x"}}}}) == "indexes");
  CHECK(refused({{"indexes", {{"a", ""}}}}) == "indexes");
  CHECK(refused({{"headers", {{"agdx.idx.a", "x"}}}}) == "headers");
  for (const auto* key : {"agdx.ct", "agdx.sid", "agdx.sfp", "agdx.ref", "agdx.inline"})
    CHECK(refused({{"headers", {{key, "x"}}}}) == "headers");
  json many = json::array();
  for (int index = 0; index < 33; ++index) many.push_back({"i" + std::to_string(index), "x"});
  CHECK(refused({{"indexes", many}}) == "indexes");
}

TEST_CASE("all headers together take at most 1,024 bytes with 9 for each") {
  const auto total = [](std::size_t last) {
    json list = json::array();
    for (const auto* key : {"a", "b", "c"}) list.push_back({key, std::string(255, 'x')});
    list.push_back({"d", std::string(last, 'x')});
    return json{{"headers", list}};
  };
  std::vector<RecordHeader> out;
  // 3 * (1 + 255 + 9) + 1 + n + 9 = 1,024
  CHECK_FALSE(headers_of(total(219), out));
  CHECK(out.size() == 4);
  CHECK(refused(total(220)) == "headers");
}

TEST_CASE("a content type that has no name yet is carried by its number") {
  std::vector<RecordHeader> out;
  REQUIRE_FALSE(headers_of({{"content_type", 42}}, out));
  REQUIRE(out.size() == 1);
  CHECK(out[0].value == bytes::Buffer{42});
}
