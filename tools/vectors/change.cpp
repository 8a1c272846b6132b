#include <fstream>
#include <iterator>
#include <string>

#include "agdx/change_columns.hpp"
#include "agdx/change_record.hpp"
#include "agdx_tape.hpp"
#include "bytes/tape.hpp"
#include "cbor/writer.hpp"
#include "format.hpp"

// Change records: outcome and rule of one record, what a reader does with it, its content, and its bytes
// written again.
namespace vectors {
namespace {

using nlohmann::json;
using tidemark::Error;
using tidemark::bytes::Buffer;
namespace agdx = tidemark::agdx;
namespace tape = tidemark::tape;

Buffer read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Buffer write_again(const agdx::ChangeRecord& record) {
  Buffer body;
  tidemark::cbor::Writer out(body);
  out.map(record.has_stream ? 7 : 6);
  out.text("v"), out.u64(record.v);
  out.text("index"), out.text(record.index);
  out.text("partition_id"), out.u64(record.partition_id);
  out.text("from_offset"), out.u64(record.from_offset);
  out.text("to_offset"), out.u64(record.to_offset);
  out.text("rows"), out.u64(record.rows);
  if (record.has_stream) out.text("stream"), out.text(record.stream);
  return body;
}

Buffer tape_of(const agdx::ChangeRecord& record) {
  Buffer words;
  tape::Writer out(words);
  const auto mark = out.open(tape::Tag::map);
  out.key("v"), out.u32(record.v);
  out.key("index"), out.text(record.index);
  out.key("partition_id"), out.u32(record.partition_id);
  out.key("from_offset"), out.u64(record.from_offset);
  out.key("to_offset"), out.u64(record.to_offset);
  out.key("rows"), out.u32(record.rows);
  if (record.has_stream) out.key("stream"), out.text(record.stream);
  out.close(mark, record.has_stream ? 7 : 6);
  return words;
}

std::string reader_outcome(const Buffer& payload) {
  agdx::NameTable names;
  agdx::ChangeDecoder decoder(names);
  agdx::ChangeColumns columns;
  agdx::SkipCounts skipped;
  const agdx::FeedPayload given{0, static_cast<std::uint32_t>(payload.size()), 0, 0, payload.data()};
  decoder.decode({&given, 1}, columns, skipped);
  if (columns.count == 1) return "delivered";
  if (skipped.version == 1) return "skipped_version";
  return skipped.malformed == 1 ? "skipped_malformed" : "lost";
}

bool claims(const json& sidecar) { return sidecar.value("message", std::string()) == "ChangeRecord"; }

std::string run(const json& sidecar, const std::filesystem::path& path) {
  const auto payload = read_file(path.parent_path() / sidecar.at("file").get<std::string>());
  if (payload.size() != sidecar.at("bytes").get<std::size_t>()) return "the file's size is not the sidecar's";
  const auto wanted_reader = sidecar.value("reader_outcome", std::string());
  if (const auto reader = reader_outcome(payload); !wanted_reader.empty() && reader != wanted_reader)
    return "reader: expected " + wanted_reader + ", got " + reader;

  agdx::ChangeRecord record;
  Error error;
  const bool decoded = agdx::decode_change_record(payload, record, error);
  const auto outcome = sidecar.at("outcome").get<std::string>();
  if (outcome == "decode_error") {
    const auto rule = sidecar.at("rule").get<std::string>();
    if (decoded) return "accepted, expected " + rule;
    if (rule_class(error.rule) != tidemark::RuleClass::codec) return "wrong class of rule";
    return rule_name(error.rule) == rule ? ""
                                         : "expected " + rule + ", got " + std::string(rule_name(error.rule));
  }
  if (!decoded) return "refused: " + std::string(rule_name(error.rule));
  const bool canonical = outcome == "valid";
  if (!canonical && outcome != "valid_noncanonical") return "unknown outcome " + outcome;
  const auto again = hex(write_again(record));
  const auto wanted = canonical ? hex(payload) : sidecar.at("canonical_hex").get<std::string>();
  if (again != wanted) return "written again as " + again + ", expected " + wanted;
  const auto words = tape_of(record);
  return differs(sidecar.at("cbor"), tape::Value{words}, !canonical);
}

const Registration registration{{claims, run}};

}  // namespace
}  // namespace vectors
