#include "agdx/change_record.hpp"

#include "agdx/change_record_fast.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {
namespace {

enum Field : std::uint32_t { v, index, partition_id, from_offset, to_offset, rows, stream, unknown };
constexpr std::string_view names[] = {"v",         "index", "partition_id", "from_offset",
                                      "to_offset", "rows",  "stream"};

Field field_of(std::string_view key) {
  for (std::uint32_t field = v; field < unknown; ++field)
    if (names[field] == key) return static_cast<Field>(field);
  return unknown;
}

// A name in one run stays where it is; one in chunks lives in the reader and must outlive it.
void keep(std::string_view value, std::span<const std::uint8_t> payload, std::string& owned,
          std::string_view& out) {
  const auto* from = reinterpret_cast<const char*>(payload.data());
  if (value.empty() || (value.data() >= from && value.data() < from + payload.size())) {
    out = value;
    return;
  }
  owned.assign(value);
  out = owned;
}

__attribute__((minsize)) bool decode_in_any_form(std::span<const std::uint8_t> payload, ChangeRecord& record,
                                                 Error& error) {
  cbor::CompactReader in(payload);
  std::uint32_t seen = 0;
  std::string_view failed_at;
  auto map = in.map();
  while (in.next(map)) {
    const auto key_at = in.position();
    const auto field = field_of(in.text());
    if (!in.ok()) break;
    if (field == unknown) {
      in.skip();
      continue;
    }
    failed_at = names[field];
    if ((seen & 1U << field) != 0) {
      in.fail(Rule::duplicate_key, key_at);
      break;
    }
    seen |= 1U << field;
    switch (field) {
      case v: record.v = in.u32(); break;
      case index: keep(in.text(), payload, record.owned_index, record.index); break;
      case partition_id: record.partition_id = in.u32(); break;
      case from_offset: record.from_offset = in.u64(); break;
      case to_offset: record.to_offset = in.u64(); break;
      case rows: record.rows = in.u32(); break;
      case stream:
        record.has_stream = !in.take_null();
        if (record.has_stream) keep(in.text(), payload, record.owned_stream, record.stream);
        break;
      case unknown: break;
    }
    if (!in.ok()) break;
    failed_at = {};
  }
  if (in.ok()) {
    in.expect_end();
    for (std::uint32_t field = v; in.ok() && field <= rows; ++field) {
      if ((seen & 1U << field) != 0) continue;
      failed_at = names[field];
      in.fail(Rule::missing_field);
    }
  }
  if (in.ok()) return true;
  error = in.error();
  if (!failed_at.empty()) error.set_path(failed_at);
  return false;
}

}  // namespace

bool decode_change_record(std::span<const std::uint8_t> payload, ChangeRecord& record, Error& error) {
  fast::Change change;
  if (fast::change(payload.data(), payload.data() + payload.size(), change) &&
      cbor::valid_utf8(bytes::as_bytes(change.index)) && cbor::valid_utf8(bytes::as_bytes(change.stream))) {
    record.v = change_record_version;
    record.index = change.index;
    record.partition_id = change.partition;
    record.from_offset = change.from;
    record.to_offset = change.to;
    record.rows = change.rows;
    record.stream = change.stream;
    record.has_stream = change.has_stream;
    return true;
  }
  record.stream = {};
  record.has_stream = false;
  return decode_in_any_form(payload, record, error);
}

}  // namespace tidemark::agdx
