#include <fstream>
#include <iterator>
#include <string>

#include "agdx/capabilities.hpp"
#include "agdx/command_error.hpp"
#include "agdx/message.hpp"
#include "agdx_messages.hpp"
#include "agdx_tape.hpp"
#include "format.hpp"

// Messages of the managed plane that are tables: outcome, rule, bytes written again, decoded content, and
// what the sidecar says beyond that.
namespace vectors {
namespace {

using nlohmann::json;
using tidemark::Error;
using tidemark::RuleClass;
using tidemark::bytes::Buffer;
using tidemark::tape::Value;
namespace agdx = tidemark::agdx;

Buffer read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string describe(const Error& error) {
  return std::string(rule_name(error.rule)) + " at byte " + std::to_string(error.position) + " in '" +
         std::string(error.path()) + "'";
}

std::string expect_rule(const json& sidecar, const Error& error, RuleClass wanted) {
  if (!error) return "accepted, expected " + sidecar.value("rule", std::string("an error"));
  if (rule_class(error.rule) != wanted) return "wrong class of rule: " + describe(error);
  const auto rule = sidecar.value("rule", std::string());
  if (!rule.empty() && rule != rule_name(error.rule)) return "expected " + rule + ", got " + describe(error);
  return {};
}

template <class Actual>
std::string expect(const json& wanted, const Actual& actual, const char* what) {
  const json value = actual;
  return wanted == value ? std::string()
                         : std::string(what) + ": expected " + wanted.dump() + ", got " + value.dump();
}

std::string check_capabilities(const json& wanted, Value announce) {
  agdx::Capabilities held;
  held.answered(announce);
  const auto set = held.value();
  // The sidecar names keys as the TypeScript API does.
  if (const auto problem = differs(wanted.at("capabilities"), camel_case(set)); !problem.empty())
    return "capabilities: " + problem;
  if (auto problem = expect(wanted.at("isReady"), agdx::is_ready(set), "isReady"); !problem.empty())
    return problem;
  if (auto problem = expect(wanted.at("unreadyBackends"), agdx::unready_backends(set), "unreadyBackends");
      !problem.empty())
    return problem;
  const auto feed = held.feed_topic({});
  return expect(wanted.at("changeFeed"), json{{"stream", feed.stream}, {"topic", feed.topic}}, "changeFeed");
}

std::string check_error(const json& sidecar, Value value) {
  if (sidecar.contains("code")) {
    const auto code = agdx::result_code(value);
    for (const auto& problem :
         {expect(sidecar.at("code"), code, "code"),
          expect(sidecar.at("http_status"), agdx::http_status(code), "http_status"),
          expect(sidecar.at("retryable"), agdx::is_retryable(code), "retryable"),
          expect(sidecar.at("outcome_unknown"), agdx::leaves_outcome_unknown(code), "outcome_unknown"),
          expect(sidecar.at("cbor").at("code"), std::string(agdx::result_code_name(code)), "code name")})
      if (!problem.empty()) return problem;
  }
  if (sidecar.contains("result_code")) {
    const auto code = static_cast<std::uint16_t>(agdx::surface_result_code(value.get("Err")));
    if (auto problem = expect(sidecar.at("result_code"), code, "result_code"); !problem.empty())
      return problem;
    return expect(sidecar.at("retryable"), agdx::is_retryable(code), "retryable");
  }
  return {};
}

std::string check_valid(const json& sidecar, const agdx::Field& type, const Buffer& input) {
  Buffer tape;
  if (const auto error = agdx::decode(type, input, tape)) return "refused: " + describe(error);
  const Value value{tape};
  if (value.length() != tape.size()) return "the tape is not one value";
  if (const auto error = agdx::validate(type, value)) return "refused by a rule: " + describe(error);

  Buffer again;
  if (const auto error = agdx::encode(type, value, again, agdx::Encode::again))
    return "cannot be written again: " + describe(error);
  const bool canonical = sidecar.at("outcome") == "valid";
  const auto wanted = canonical ? hex(input) : sidecar.at("canonical_hex").get<std::string>();
  if (hex(again) != wanted) return "written again as " + hex(again) + ", expected " + wanted;
  if (sidecar.value("byte_exact", false) && hex(input) != wanted) return "the vector contradicts itself";
  Buffer tape_again;
  if (agdx::decode(type, again, tape_again) || tape_again != tape) return "reads back as something else";

  if (const auto problem = differs(sidecar.at("cbor"), value, !canonical); !problem.empty()) return problem;
  if (sidecar.contains("capabilities"))
    if (auto problem = check_capabilities(sidecar.at("capabilities"), value); !problem.empty())
      return problem;
  return check_error(sidecar, value);
}

bool claims(const json& sidecar) { return find_message(sidecar.value("message", std::string())) != nullptr; }

std::string run(const json& sidecar, const std::filesystem::path& path) {
  const auto& type = *find_message(sidecar.at("message").get<std::string>());
  const auto input = read_file(path.parent_path() / sidecar.at("file").get<std::string>());
  if (input.size() != sidecar.at("bytes").get<std::size_t>()) return "the file's size is not the sidecar's";
  const auto outcome = sidecar.at("outcome").get<std::string>();
  if (outcome == "valid" || outcome == "valid_noncanonical") return check_valid(sidecar, type, input);

  Buffer tape;
  const auto error = agdx::decode(type, input, tape);
  if (outcome == "decode_error") {
    if (error && !tape.empty()) return "a refused input left something on the tape";
    return expect_rule(sidecar, error, RuleClass::codec);
  }
  if (outcome != "invalid") return "unknown outcome " + outcome;
  if (error) return "must decode and be refused by a rule: " + describe(error);
  if (auto problem = differs(sidecar.at("cbor"), Value{tape}, true); !problem.empty()) return problem;
  if (auto problem = expect_rule(sidecar, agdx::validate(type, Value{tape}), RuleClass::invalid);
      !problem.empty())
    return problem;
  Buffer refused;
  const auto refusal = agdx::encode_valid(type, Value{tape}, refused);
  if (!refused.empty()) return "an invalid message was written";
  return expect_rule(sidecar, refusal, RuleClass::invalid);
}

const Registration registration{{claims, run}};

}  // namespace
}  // namespace vectors
