#include "agdx/message.hpp"

#include <catch2/catch_amalgamated.hpp>
#include <random>

#include "agdx/browse.hpp"
#include "agdx/command_error.hpp"
#include "agdx/control.hpp"
#include "agdx/envelopes.hpp"
#include "agdx/hello.hpp"
#include "agdx/kv.hpp"
#include "agdx/managed_fixture.hpp"
#include "agdx/projection.hpp"

using namespace tidemark;
using agdx::Field;

namespace {

struct Broken {
  const char* what;
  const Field& type;
  bytes::Buffer input;
  Rule rule;
  const char* field;
};

bytes::Buffer hex(std::string_view text) {
  bytes::Buffer out;
  const auto digit = [](char letter) { return letter <= '9' ? letter - '0' : letter - 'a' + 10; };
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    out.push_back(static_cast<std::uint8_t>(digit(text[at]) << 4 | digit(text[at + 1])));
  return out;
}

struct Sample {
  const char* vector;
  const Field& type;
};
const Sample samples[] = {
    {"backend_announce", agdx::backend_announce},
    {"backend_announce_topology", agdx::backend_announce},
    {"managed_request_u64_max_plus_1", agdx::managed_request_envelope},
    {"managed_read", agdx::managed_read_envelope},
    {"managed_reply", agdx::managed_reply_envelope},
    {"control_register_projection", agdx::control_envelope},
    {"control_apply_binding", agdx::control_envelope},
    {"control_stamped_remove_binding", agdx::control_envelope},
    {"control_register_schema_protobuf", agdx::control_envelope},
    {"browse_reply_projections", agdx::browse_reply},
    {"browse_reply_decoded", agdx::browse_reply},
    {"kv_reply_page", agdx::kv_reply},
    {"kv_cas_fenced", agdx::kv_cas_fenced},
    {"command_error_06", agdx::command_error},
};

}  // namespace

TEST_CASE("malformed messages are refused by their rule, at their field") {
  const Broken table[] = {
      {"empty input", agdx::command_error, {}, Rule::truncated, ""},
      {"array for a map", agdx::command_error, hex("82626f6b6178"), Rule::wrong_type, ""},
      {"integer key", agdx::command_error, hex("a10102"), Rule::wrong_type, ""},
      {"missing field", agdx::command_error, hex("a164636f6465626f6b"), Rule::missing_field, "message"},
      {"known key twice", agdx::command_error, hex("a364636f6465626f6b64636f6465626f6b676d6573736167656178"),
       Rule::duplicate_key, "code"},
      {"unknown name", agdx::command_error, hex("a264636f6465626f6f676d6573736167656178"),
       Rule::unknown_variant, "code"},
      {"bytes for text", agdx::command_error, hex("a264636f6465626f6b676d6573736167654178"), Rule::wrong_type,
       "message"},
      {"trailing byte", agdx::command_error, hex("a264636f6465626f6b676d657373616765617800"),
       Rule::trailing_bytes, ""},
      {"null for a required field", agdx::command_error, hex("a264636f6465626f6b676d657373616765f6"),
       Rule::wrong_type, "message"},
      {"two variants", agdx::kv_reply, hex("a2624f6b675772697474656e63457272694c656173654c6f7374"),
       Rule::enum_shape, ""},
      {"no variant", agdx::kv_reply, hex("a0"), Rule::enum_shape, ""},
      {"array as variant", agdx::kv_reply, hex("82624f6b675772697474656e"), Rule::enum_shape, ""},
      {"number as variant", agdx::kv_reply, hex("01"), Rule::wrong_type, ""},
      {"unknown variant", agdx::kv_reply, hex("a1624f6b644e6f7065"), Rule::unknown_variant, "Ok"},
      {"text for a variant with data", agdx::kv_reply, hex("a1624f6b664c6561736564"), Rule::enum_shape, "Ok"},
      {"short identity", agdx::projection_binding,
       hex("a366736f75726365a26673747265616d617365746f706963617465696e646578616967"
           "6261636b656e64a26b7265736f757263655f6964420102"
           "6a67656e65726174696f6e01"),
       Rule::id_length, "backend.resource_id"},
      {"a kind that is not there", agdx::projection_binding,
       hex("a366736f75726365a26673747265616d617365746f706963617465696e6465786169"
           "69726574656e74696f6ea0"),
       Rule::missing_field, "retention"},
  };
  for (const auto& broken : table) {
    INFO(broken.what);
    bytes::Buffer tape{1, 2, 3};
    const auto error = decode(broken.type, broken.input, tape);
    CHECK(rule_name(error.rule) == rule_name(broken.rule));
    CHECK(error.path() == broken.field);
    CHECK(tape == bytes::Buffer{1, 2, 3});
  }
}

TEST_CASE("every prefix of a message is refused cleanly") {
  for (const auto& sample : samples) {
    INFO(sample.vector);
    const auto whole = agdx::test::payload(sample.vector);
    REQUIRE_FALSE(whole.empty());
    for (std::size_t length = 0; length < whole.size(); ++length) {
      // An exact allocation lets the sanitizer see any read past the end.
      const bytes::Buffer prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      bytes::Buffer tape;
      const auto error = decode(sample.type, prefix, tape);
      CHECK(rule_class(error.rule) == RuleClass::codec);
      CHECK(tape.empty());
    }
  }
}

TEST_CASE("whatever decodes can be written again and reads back the same") {
  std::mt19937 random(4711);
  std::size_t accepted = 0;
  for (const auto& sample : samples) {
    INFO(sample.vector);
    const auto whole = agdx::test::payload(sample.vector);
    for (int round = 0; round < 2'000; ++round) {
      auto mutated = whole;
      for (auto flips = random() % 4 + 1; flips > 0; --flips)
        mutated[random() % mutated.size()] = static_cast<std::uint8_t>(random());
      bytes::Buffer tape;
      if (decode(sample.type, mutated, tape)) continue;
      ++accepted;
      CHECK(tape::Value{tape}.length() == tape.size());
      static_cast<void>(validate(sample.type, tape::Value{tape}));
      bytes::Buffer again;
      const auto error = encode(sample.type, tape::Value{tape}, again, agdx::Encode::again);
      CHECK_FALSE(error);
      bytes::Buffer tape_again;
      CHECK_FALSE(decode(sample.type, again, tape_again));
      CHECK(tape == tape_again);
    }
  }
  CHECK(accepted > 100);
}

TEST_CASE("keys may come in any order, and the kind of a union last") {
  const auto ordered =
      hex("a369726574656e74696f6ea264726f777302646b696e64686d61785f726f777365696e6465786169"
          "66736f75726365a265746f7069636174"
          "6673747265616d6173");
  bytes::Buffer tape;
  const auto error = decode(agdx::projection_binding, ordered, tape);
  INFO(error.path());
  REQUIRE_FALSE(error);
  const auto retention = tape::Value{tape}.get("retention");
  CHECK(retention.get("kind").text() == "max_rows");
  CHECK(agdx::number(retention.get("rows")) == 2);
  CHECK(tape::Value{tape}.get("source").get("stream").text() == "s");
}

TEST_CASE("a request from JavaScript takes its own number types and defaults") {
  const auto args = agdx::test::tape_of({{"v", 1}, {"namespace", "n"}, {"limit", 100}});
  bytes::Buffer out;
  REQUIRE_FALSE(encode_valid(agdx::kv_scan, tape::Value{args}, out));
  CHECK(out == hex("a3617601696e616d657370616365616e656c696d69741864"));
  const auto without_version = agdx::test::tape_of({{"namespace", "n"}, {"limit", 100}});
  bytes::Buffer same;
  REQUIRE_FALSE(encode_valid(agdx::kv_scan, tape::Value{without_version}, same));
  CHECK(same == out);
}

TEST_CASE("a request from JavaScript is refused for what it says too much, too big or too little") {
  const auto refusal = [](const nlohmann::json& args) {
    const auto tape = agdx::test::tape_of(args);
    bytes::Buffer out{7};
    const auto error = encode_valid(agdx::kv_scan, tape::Value{tape}, out);
    CHECK(out == bytes::Buffer{7});
    return std::pair{rule_name(error.rule), std::string(error.path())};
  };
  using Refusal = std::pair<std::string_view, std::string>;
  CHECK(refusal({{"v", 1}, {"namespace", "n"}, {"limit", 100}, {"limt", 1}}) == Refusal{"argument", "limt"});
  CHECK(refusal({{"v", 1}, {"namespace", "n"}, {"limit", 1001}}) == Refusal{"scan_limit", "limit"});
  CHECK(refusal({{"v", 1}, {"namespace", "n"}, {"limit", 1.5}}) == Refusal{"integer_range", "limit"});
  CHECK(refusal({{"v", 1}, {"namespace", "n"}, {"limit", "1"}}) == Refusal{"wrong_type", "limit"});
  CHECK(refusal({{"v", 1}, {"namespace", "n"}}) == Refusal{"missing_field", "limit"});
  CHECK(refusal({{"v", 2}, {"namespace", "n"}, {"limit", 1}}) == Refusal{"version", "v"});
}

TEST_CASE("a name that was read as unknown is never sent") {
  bytes::Buffer tape;
  REQUIRE_FALSE(decode(agdx::projection_binding, agdx::test::payload("binding_raw_unknown_retention"), tape));
  bytes::Buffer out;
  CHECK(encode(agdx::projection_binding, tape::Value{tape}, out).rule == Rule::unknown_variant);
  CHECK(out.empty());
}

TEST_CASE("decoded numbers keep the width of their field") {
  bytes::Buffer tape;
  REQUIRE_FALSE(
      decode(agdx::managed_request_envelope, agdx::test::payload("managed_request_small_id"), tape));
  CHECK(tape::Value{tape}.get("v").is(tape::Tag::u32));
  CHECK(tape::Value{tape}.get("operation_id").is(tape::Tag::u128));
  tape.clear();
  REQUIRE_FALSE(decode(agdx::backend_announce, agdx::test::payload("backend_announce"), tape));
  CHECK(tape::Value{tape}.get("versions").get("features").is(tape::Tag::u64));
}
