// Golden files of the streaming protocol: tests/vectors/iggy/README.md.
#include "format.hpp"
#include "iggy/checksum.hpp"
#include "iggy/command/batch_tape.hpp"
#include "iggy/command/command.hpp"
#include "iggy/operation.hpp"
#include "iggy/reply.hpp"
#include "iggy_fragment.hpp"
#include "iggy_header.hpp"
#include "tape_compare.hpp"

namespace vectors {

namespace {

using namespace tidemark;
using namespace tidemark::iggy;
using Json = nlohmann::json;

std::string problem_of(const Error& error) {
  return std::string(rule_name(error.rule)) + " at " + std::to_string(error.position) + " " +
         std::string(error.path());
}

Dialect dialect_of(const Json& sidecar) {
  const auto protocol = sidecar.value("protocol", "");
  return protocol == "0.12.2" ? Dialect::v12 : Dialect::s11;
}

// Keys that sidecars add for the human reader, or that follow from others.
std::string check_derived(Json& body, tape::Value decoded) {
  if (body.contains("protocol_version_text")) {
    std::uint64_t packed = 0;
    decoded.get("protocol_version").to_u64(packed);
    const auto text = std::to_string(packed >> 20) + "." + std::to_string(packed >> 10 & 1023) + "." +
                      std::to_string(packed & 1023);
    if (body["protocol_version_text"] != Json(text)) return "protocol_version_text: decoded " + text;
    body.erase("protocol_version_text");
  }
  if (body.contains("note")) body.erase("note");
  if (body.contains("partition_incarnation")) {
    const auto first = decoded.get("partitions").first();
    auto problem = compare(body["partition_incarnation"], first.get("context").get("incarnation"),
                           "body.partition_incarnation");
    if (!problem.empty()) return problem;
    body.erase("partition_incarnation");
  }
  // A section has one batch in sidecars that name it in the singular.
  if (body.contains("sections")) {
    for (auto& section : body["sections"]) {
      if (!section.contains("batch")) continue;
      section["batches"] = section["batch"].is_null() ? Json::array() : Json::array({section["batch"]});
      section.erase("batch");
    }
  }
  return {};
}

std::string compare_body(Json expected, tape::Value decoded) {
  if (expected.is_null()) return compare(expected, decoded, "body");
  if (auto problem = check_derived(expected, decoded); !problem.empty()) return problem;
  // Captured replies keep the payload apart from the result section; one record stands for itself there.
  if (expected.contains("payload")) {
    auto payload = expected["payload"];
    const auto stream = decoded.get("stream");
    return compare(payload, stream.exists() && !payload.contains("stream") ? stream : decoded,
                   "body.payload");
  }
  return compare(expected, decoded, "body");
}

std::string run_request(const Json& sidecar, const Frame& frame, std::span<const std::uint8_t> bytes) {
  const auto header = frame.request();
  const auto& fields = sidecar["fields"];
  if (auto problem = compare_header(fields["header"], frame); !problem.empty()) return problem;

  const auto dialect = dialect_of(sidecar);
  const std::uint32_t command = sidecar.at("command_code");
  if (operation_of(command) != header.operation) return "operation of command " + std::to_string(command);
  bytes::Buffer tape_bytes;
  tape::Writer writer(tape_bytes);
  if (const auto error = decode_request(command, frame.body(), dialect, writer)) return problem_of(error);
  const tape::Value decoded(tape_bytes);

  Json expected = fields["body"];
  if (expected.is_object() && expected.contains("body_hex")) {
    if (expected["body_hex"] != Json(to_hex(frame.body()))) return "body_hex differs";
  } else if (expected.is_null()) {
    if (!frame.body().empty()) return "the body is not empty";
  } else if (auto problem = compare_body(expected, decoded); !problem.empty()) {
    return problem;
  }

  // Encode: header and body from what was decoded, byte for byte. In V11 the stamp follows from the body.
  bytes::Buffer encoded(kHeaderSize);
  if (const auto error = encode_request(command, decoded, dialect, encoded))
    return "encode: " + problem_of(error);
  auto again = header;
  const bool stamped = is_metadata_write(header.operation) || header.operation == kRegister ||
                       header.operation == kLogoutOperation;
  if (!is_v12(dialect) && stamped && header.request_checksum != tape::U128{} &&
      sidecar.value("protocol", "") != "0.11.0 and 0.12.2")
    again.request_checksum = {xxh3_64(std::span(encoded).subspan(kHeaderSize)), 0};
  write_request_header(again, encoded);
  if (!std::equal(encoded.begin(), encoded.end(), bytes.begin(), bytes.end()))
    return "encodes to other bytes: " + to_hex(encoded).substr(0, 2000);
  return {};
}

std::string run_reply(const Json& sidecar, const Frame& frame) {
  const auto& fields = sidecar["fields"];
  if (auto problem = compare_header(fields["header"], frame); !problem.empty()) return problem;
  Json expected = fields["body"];
  if (frame.kind() == FrameKind::eviction) return expected.is_null() ? "" : "an eviction has no body";

  const auto header = frame.reply();
  const std::uint32_t command = sidecar.at("command_code");
  if (!answers(header.operation, operation_of(command))) return "the operation is no answer to the command";
  const auto answer = read_answer(header, frame.body());
  if (answer.error) return problem_of(answer.error);
  if (expected.is_null() && frame.body().empty() && !answer.ok)
    return answer.from_status ? "" : "no refusal by status";

  if (expected.is_object() && expected.contains("result_count")) {
    bytes::Reader section(frame.body());
    if (expected["result_count"] != section.u32() || (expected["result_count"] == 0) != answer.ok)
      return "result_count";
    if (!answer.ok) {
      if (expected["index"] != 0) return "index";
      return expected["result"] == answer.code ? "" : "result: decoded " + std::to_string(answer.code);
    }
    expected.erase("result_count");
  }
  if (!answer.ok) return "decoded as a refusal with " + std::to_string(answer.code);

  bytes::Buffer tape_bytes;
  tape::Writer writer(tape_bytes);
  if (const auto error = decode_reply(command, answer.payload, dialect_of(sidecar), writer))
    return problem_of(error);
  if (expected.is_null() && is_managed(command)) return frame.body().empty() ? "" : "the body is not empty";
  if (expected.is_object() && expected.empty())
    return answer.payload.empty() ? "" : "the payload is not empty";
  return compare_body(expected, tape::Value(tape_bytes));
}

std::string run_frame(const Json& sidecar, std::span<const std::uint8_t> bytes) {
  Frame frame;
  if (const auto error = Frame::parse(bytes, SIZE_MAX, frame)) return problem_of(error);
  const bool is_request = sidecar["direction"] == "request";
  if (is_request != (frame.kind() == FrameKind::request)) return "the frame travels the other way";
  return is_request ? run_request(sidecar, frame, bytes) : run_reply(sidecar, frame);
}

// What a broken frame is refused with: the frame, the answer or the body.
Error refuse_frame(const Json& sidecar, std::span<const std::uint8_t> bytes) {
  Frame frame;
  if (const auto error = Frame::parse(bytes, SIZE_MAX, frame)) return error;
  const std::uint32_t command = sidecar.value("command_code", 0U);
  bytes::Buffer tape_bytes;
  tape::Writer writer(tape_bytes);
  if (frame.kind() == FrameKind::request)
    return decode_request(command, frame.body(), dialect_of(sidecar), writer);
  const auto answer = read_answer(frame.reply(), frame.body());
  if (answer.error || !answer.ok) return answer.error;
  return decode_reply(command, answer.payload, dialect_of(sidecar), writer);
}

// The reference's names for the reasons, by our rules.
bool in_class(Rule rule, const std::string& name) {
  if (name == "UnexpectedEof") return rule == Rule::truncated;
  if (name == "InvalidBatchChecksum") return rule == Rule::batch_checksum;
  if (name == "InvalidMessageChecksum") return rule == Rule::message_checksum;
  if (name == "InvalidUtf8") return rule == Rule::invalid_utf8;
  return rule != Rule::none && rule != Rule::truncated && rule != Rule::batch_checksum &&
         rule != Rule::message_checksum;
}

bool claims(const Json& sidecar) {
  return sidecar.is_object() && sidecar.contains("hex") && sidecar.contains("scope") &&
         sidecar.contains("protocol");
}

std::string run(const Json& sidecar, const std::filesystem::path&) {
  bytes::Buffer bytes;
  if (!from_hex(sidecar["hex"], bytes)) return "hex is not hexadecimal";
  if (sidecar["length"] != bytes.size()) return "length differs from hex";
  if (sidecar.contains("expect")) {
    const auto error = sidecar["scope"] == "frame" ? refuse_frame(sidecar, bytes)
                                                   : refuse_fragment(sidecar, dialect_of(sidecar), bytes);
    if (!error) return "accepted, but must be rejected";
    const auto name = sidecar["expect"].value("class", "");
    return in_class(error.rule, name) ? "" : "rejected with " + problem_of(error) + " instead of " + name;
  }
  return sidecar["scope"] == "frame" ? run_frame(sidecar, bytes)
                                     : run_fragment(sidecar, dialect_of(sidecar), bytes);
}

const Registration registration({claims, run});

}  // namespace
}  // namespace vectors
