#include <utility>

#include "agdx/record_headers.hpp"
#include "feed/publish.hpp"
#include "iggy/primitives.hpp"

namespace tidemark::feed {
namespace {

bool refuse(Error& error, Rule rule, std::string_view path) {
  error.rule = rule;
  error.set_path(path);
  return false;
}

bool read_record(tape::Value value, const std::string& path, PublishRecord& record, Error& error) {
  const auto payload = value.get("payload");
  if (!payload.is(tape::Tag::bytes)) return refuse(error, Rule::publish_body, path + ".payload");
  record.payload.assign(payload.bytes().begin(), payload.bytes().end());
  std::vector<agdx::RecordHeader> headers;
  error = agdx::record_headers(value, headers);
  if (error) {
    const std::string option(error.path());
    return refuse(error, error.rule, option.empty() ? path : path + "." + option);
  }
  bytes::Writer out(record.headers);
  for (const auto& header : headers)
    if (!iggy::write_header_entry(
            {{iggy::header_kind::kString, bytes::as_bytes(header.key)}, {header.kind, header.value}}, out))
      return refuse(error, Rule::publish_headers, path + "." + header.key);
  return true;
}

// A number in milliseconds that may be absent.
bool read_ms(tape::Value value, const char* name, std::uint64_t& micros, Error& error) {
  const auto given = value.get(name);
  if (given.is_null()) return true;
  std::uint64_t ms = 0;
  if (!given.to_u64(ms) || ms > UINT32_MAX) return refuse(error, Rule::argument, name);
  micros = ms * 1000;
  return true;
}

}  // namespace

std::optional<PublishArgs> publish_args(tape::Value value, Error& error) {
  PublishArgs args;
  args.stream = value.get("stream").text();
  args.topic = value.get("topic").text();
  const auto key = value.get("partition_key");
  const auto partition = value.get("partition_id");
  if (!key.is_null() && !partition.is_null())
    return refuse(error, Rule::partitioning, "partition_key"), std::nullopt;
  if (!key.is_null()) {
    if (!key.is(tape::Tag::bytes)) return refuse(error, Rule::partitioning, "partition_key"), std::nullopt;
    args.partition = bytes::Buffer(key.bytes().begin(), key.bytes().end());
  }
  std::uint64_t number = 0;
  if (!partition.is_null()) {
    if (!partition.to_u64(number) || number > UINT32_MAX)
      return refuse(error, Rule::partitioning, "partition_id"), std::nullopt;
    args.partition = static_cast<std::uint32_t>(number);
  }
  if (!read_ms(value, "timeout_ms", args.timeout_micros, error) ||
      !read_ms(value, "retry_backoff_ms", args.retry_backoff_micros, error))
    return std::nullopt;
  if (const auto retries = value.get("max_retries"); !retries.is_null()) {
    if (!retries.to_u64(number) || number > 1000)
      return refuse(error, Rule::argument, "max_retries"), std::nullopt;
    args.max_retries = static_cast<std::uint32_t>(number);
  }
  const auto records = value.get("records");
  auto record = records.first();
  for (std::uint32_t index = 0; index < records.count(); ++index, record = record.next())
    if (!read_record(record, "records." + std::to_string(index), args.records.emplace_back(), error))
      return std::nullopt;
  return args;
}

}  // namespace tidemark::feed
