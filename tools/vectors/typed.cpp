#include <fstream>
#include <iterator>
#include <string>

#include "agdx/command_error.hpp"
#include "agdx/message.hpp"
#include "agdx/query_reply.hpp"
#include "agdx/query_value.hpp"
#include "agdx/schema.hpp"
#include "agdx/typed_value.hpp"
#include "agdx_tape.hpp"
#include "format.hpp"

// Schemas, logical types, display text of typed values, and query replies read into columns.
namespace vectors {
namespace {

using nlohmann::json;
using tidemark::Error;
using tidemark::RuleClass;
using tidemark::bytes::Buffer;
using tidemark::tape::Value;
namespace agdx = tidemark::agdx;
namespace cbor = tidemark::cbor;
namespace tape = tidemark::tape;

Buffer read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Buffer from_hex(const std::string& text) {
  Buffer bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(at, 2), nullptr, 16)));
  return bytes;
}

std::string describe(const Error& error) {
  return std::string(rule_name(error.rule)) + " at byte " + std::to_string(error.position) + " in '" +
         std::string(error.path()) + "'";
}

// What one of the readers made of the input, whatever it is.
struct Result {
  Error decode;   // it cannot be read
  Error refusal;  // it can, and a rule refuses it
  Buffer again;   // written again
  Buffer tape;    // the content
  std::string text;
  std::string fingerprint;
  std::string fingerprint_input;
};

template <class Read>
Error read_all(const Buffer& input, Read read) {
  cbor::Reader reader(input);
  agdx::Path path;
  agdx::Decoding in{reader, path};
  read(in);
  reader.expect_end();
  in.note();
  return in.error;
}

Result typed_value(const Buffer& input) {
  Result result;
  tape::Writer writer(result.tape);
  result.decode = read_all(input, [&](agdx::Decoding& in) { agdx::read_value(in, writer); });
  if (result.decode) return result;
  result.refusal = agdx::check_value(Value{result.tape});
  if (result.refusal) return result;
  cbor::Writer again(result.again);
  agdx::write_value(Value{result.tape}, again);
  Buffer text;
  agdx::diagnostic_text(Value{result.tape}, text);
  result.text = tidemark::bytes::as_text(text);
  return result;
}

Result typed_values(const Buffer& input) {
  Result result;
  tape::Writer writer(result.tape);
  std::uint32_t count = 0;
  const auto mark = writer.open(tape::Tag::array);
  result.decode = read_all(input, [&](agdx::Decoding& in) {
    auto items = in.reader.array();
    for (; in.reader.next(items); ++count) agdx::read_value(in, writer);
  });
  writer.close(mark, count);
  if (result.decode) return result;
  cbor::Writer again(result.again);
  again.array(count);
  agdx::each(Value{result.tape}, [&](Value item, std::uint32_t) {
    result.refusal = agdx::check_value(item);
    if (!result.refusal) agdx::write_value(item, again);
    return !result.refusal;
  });
  return result;
}

Result logical_types(const Buffer& input, bool list) {
  Result result;
  cbor::Writer again(result.again);
  tape::Writer writer(result.tape);
  std::uint32_t count = 0;
  std::vector<agdx::FieldTree> trees;
  result.decode = read_all(input, [&](agdx::Decoding& in) {
    if (!list) {
      agdx::read_type(in, trees.emplace_back());
      return;
    }
    auto items = in.reader.array();
    for (; in.reader.next(items); ++count) agdx::read_type(in, trees.emplace_back());
  });
  if (result.decode) return result;
  if (list) {
    again.array(count);
    writer.close(writer.open(tape::Tag::array), count);
  }
  for (const auto& tree : trees) {
    agdx::write_type(tree, 0, again);
    agdx::write_type(tree, 0, writer);
  }
  return result;
}

Result logical_schema(const Buffer& input) {
  Result result;
  agdx::LogicalSchema schema;
  result.decode = read_all(input, [&](agdx::Decoding& in) { agdx::read_schema(in, schema); });
  if (result.decode) return result;
  result.refusal = agdx::check_schema(schema);
  if (result.refusal) return result;
  cbor::Writer again(result.again);
  agdx::write_schema(schema, again);
  Buffer hashed;
  agdx::fingerprint_input(schema, hashed);
  result.fingerprint_input = hex(hashed);
  const auto digest = agdx::fingerprint(schema);
  result.fingerprint = hex(Buffer(digest.begin(), digest.end()));
  tape::Writer writer(result.tape);
  writer.close(writer.open(tape::Tag::map), 2);
  writer.key("schema");
  writer.close(writer.open(tape::Tag::map), 3);
  writer.key("id"), writer.bytes(schema.id);
  writer.key("version"), writer.u32(schema.version);
  writer.key("fingerprint"), writer.bytes(schema.fingerprint);
  writer.key("fields"), agdx::write_fields(schema.fields, 0, schema.fields.roots, writer);
  return result;
}

// The rows of a page as the tape of their wire form.
void rows_tape(const agdx::QueryReplyDecoder& reply, Buffer& out) {
  tape::Writer writer(out);
  const auto& tree = reply.fields();
  writer.close(writer.open(tape::Tag::array), reply.rows());
  for (std::uint32_t row = 0; row < reply.rows(); ++row) {
    const auto scored = reply.has_scores() && (reply.scores().validity[row / 8] >> row % 8 & 1) != 0;
    writer.close(writer.open(tape::Tag::map), scored ? 2 : 1);
    writer.key("values");
    writer.close(writer.open(tape::Tag::array), tree.roots);
    for (std::uint32_t node = 0; node < tree.nodes.size(); node = tree.nodes[node].end)
      agdx::slot_value(tree, reply.columns(), node, row, writer);
    if (!scored) continue;
    float score = 0;
    std::memcpy(&score, reply.scores().values.data() + row * 4UL, 4);
    writer.key("score"), writer.f32(score);
  }
}

std::string expect_rule(const json& sidecar, const Error& error, RuleClass wanted) {
  if (!error) return "accepted, expected " + sidecar.value("rule", std::string("an error"));
  if (rule_class(error.rule) != wanted) return "wrong class of rule: " + describe(error);
  const auto rule = sidecar.value("rule", std::string());
  if (!rule.empty() && rule != rule_name(error.rule)) return "expected " + rule + ", got " + describe(error);
  return {};
}

std::string same(const json& sidecar, const char* key, const std::string& actual) {
  if (!sidecar.contains(key)) return {};
  const auto wanted = sidecar.at(key).get<std::string>();
  return wanted == actual ? std::string() : std::string(key) + ": expected " + wanted + ", got " + actual;
}

std::string run_reply(const json& sidecar, const Buffer& input) {
  using Outcome = agdx::QueryReplyDecoder::Outcome;
  const auto request = from_hex(sidecar.value("request_execution_id_hex", std::string()));
  const auto outcome = sidecar.at("outcome").get<std::string>();
  const bool good = outcome == "valid" || outcome == "valid_noncanonical";
  agdx::QueryReplyDecoder reply;
  // Twice: the second time with everything that the first one left.
  for (int round = 0; round < 2; ++round) {
    const auto result = reply.decode(input, request);
    if (!good) {
      if (result != Outcome::failed)
        return "accepted, expected " + sidecar.value("rule", std::string("an error"));
      const auto wanted = outcome == "decode_error"     ? RuleClass::codec
                          : outcome == "protocol_error" ? RuleClass::protocol
                                                        : RuleClass::invalid;
      if (auto problem = expect_rule(sidecar, reply.error(), wanted); !problem.empty()) return problem;
      continue;
    }
    if (result == Outcome::failed) return "refused: " + describe(reply.error());
    const Value details{reply.details()};
    const bool lenient = outcome != "valid";
    const auto& content = sidecar.at("cbor");
    if (result == Outcome::refused) {
      if (!content.contains("Err")) return "read as an error";
      if (auto problem = differs(content.at("Err"), details, lenient); !problem.empty()) return problem;
      if (sidecar.contains("result_code")) {
        const auto code = static_cast<std::uint16_t>(agdx::surface_result_code(details));
        if (code != sidecar.at("result_code").get<std::uint16_t>()) return "another result code";
        if (agdx::is_retryable(code) != sidecar.at("retryable").get<bool>()) return "retryable is wrong";
      }
      continue;
    }
    if (!content.contains("Ok")) return "read as a page";
    const auto& page = content.at("Ok");
    Buffer fields;
    tape::Writer writer(fields);
    agdx::write_fields(reply.fields(), 0, reply.fields().roots, writer);
    Buffer rows;
    rows_tape(reply, rows);
    for (auto problem :
         {differs(page.at("fields"), Value{fields}, lenient), differs(page.at("rows"), Value{rows}, lenient),
          page.contains("page") ? differs(page.at("page"), details.get("page"), lenient) : "",
          differs(page.at("context"), details.get("context"), lenient)})
      if (!problem.empty()) return problem;
  }
  return {};
}

using Reader = Result (*)(const Buffer& input);

Reader reader_of(const std::string& message) {
  if (message == "TypedValue") return typed_value;
  if (message == "array of TypedValue") return typed_values;
  if (message == "LogicalSchema") return logical_schema;
  if (message == "LogicalType") return [](const Buffer& input) { return logical_types(input, false); };
  if (message == "array of LogicalType")
    return [](const Buffer& input) { return logical_types(input, true); };
  return nullptr;
}

bool claims(const json& sidecar) {
  const auto message = sidecar.value("message", std::string());
  return message == "QueryReply" || reader_of(message) != nullptr;
}

std::string run(const json& sidecar, const std::filesystem::path& path) {
  const auto message = sidecar.at("message").get<std::string>();
  const auto input = read_file(path.parent_path() / sidecar.at("file").get<std::string>());
  if (input.size() != sidecar.at("bytes").get<std::size_t>()) return "the file's size is not the sidecar's";
  if (message == "QueryReply") return run_reply(sidecar, input);
  const auto result = reader_of(message)(input);
  const auto outcome = sidecar.at("outcome").get<std::string>();
  if (outcome == "decode_error") return expect_rule(sidecar, result.decode, RuleClass::codec);
  if (result.decode) return "cannot be read: " + describe(result.decode);
  if (outcome == "invalid") return expect_rule(sidecar, result.refusal, RuleClass::invalid);
  if (outcome != "valid" && outcome != "valid_noncanonical") return "unknown outcome " + outcome;
  if (result.refusal) return "refused by a rule: " + describe(result.refusal);
  const auto wanted = outcome == "valid" ? hex(input) : sidecar.at("canonical_hex").get<std::string>();
  if (hex(result.again) != wanted) return "written again as " + hex(result.again) + ", expected " + wanted;
  for (auto problem : {differs(sidecar.at("cbor"), Value{result.tape}, outcome != "valid"),
                       same(sidecar, "diagnostic_text", result.text),
                       same(sidecar, "fingerprint_sha256", result.fingerprint),
                       same(sidecar, "canonical_fingerprint_input_hex", result.fingerprint_input)})
    if (!problem.empty()) return problem;
  return {};
}

const Registration registration{{claims, run}};

}  // namespace
}  // namespace vectors
