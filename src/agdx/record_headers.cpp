#include "agdx/record_headers.hpp"

#include <algorithm>

#include "agdx/message.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {

namespace {

constexpr std::uint8_t kind_raw = 1;
constexpr std::uint8_t kind_string = 2;
constexpr std::uint8_t kind_bool = 3;
constexpr std::uint8_t kind_uint8 = 9;
constexpr std::uint8_t kind_uint32 = 11;

constexpr std::size_t text_cap = 255;
constexpr std::size_t total_cap = 1024;
constexpr std::size_t overhead = 9;
constexpr std::uint32_t index_cap = 32;
constexpr std::size_t fingerprint_size = 32;
constexpr std::string_view index_prefix = "agdx.idx.";
constexpr std::string_view reserved[] = {"agdx.ct", "agdx.sid", "agdx.sfp", "agdx.ref", "agdx.inline"};

struct ContentType {
  std::string_view name;
  std::uint8_t code;
};
constexpr std::uint8_t arrow = 7;
constexpr ContentType content_types[] = {
    {"raw", 0},  {"json", 1},     {"msgpack", 2},   {"cbor", 3}, {"bson", 4},
    {"avro", 5}, {"protobuf", 6}, {"arrow", arrow}, {"ref", 8},  {"any", 255},
};

bool absent(tape::Value value) { return !value.exists() || value.is_null(); }

class Headers {
 public:
  Headers(tape::Value options, std::vector<RecordHeader>& out) : options_(options), out_(out) {}

  Error run() {
    out_.clear();
    content_type() && projection() && schema() && inlined() && pairs("indexes", index_prefix) &&
        pairs("headers", {});
    if (!error_) finish();
    if (error_) out_.clear();
    return error_;
  }

 private:
  bool refused(std::string_view option) { return refuse(error_, Rule::publish_headers, option); }

  // In the order of keys. Of a key that comes again the last one counts.
  void put(std::string_view key, std::uint8_t kind, bytes::Buffer value) {
    std::size_t at = 0;
    while (at < out_.size() && out_[at].key < key) ++at;
    if (at == out_.size() || out_[at].key != key) {
      out_.emplace_back().key = key;
      std::rotate(out_.begin() + static_cast<std::ptrdiff_t>(at), out_.end() - 1, out_.end());
    }
    out_[at].kind = kind;
    out_[at].value = std::move(value);
  }
  bool put_text(std::string_view option, std::string_view key, tape::Value value) {
    const auto text = bytes::as_bytes(value.text());
    if (!value.is(tape::Tag::text) || text.empty() || text.size() > text_cap || !cbor::valid_utf8(text))
      return refused(option);
    put(key, kind_string, {text.begin(), text.end()});
    return true;
  }

  bool content_type() {
    const auto value = options_.get("content_type");
    if (!absent(value)) {
      std::uint64_t code = 0;
      bool known = value.to_u64(code) && code <= UINT8_MAX;
      for (const auto& type : content_types) {
        if (!value.is(tape::Tag::text) || value.text() != type.name) continue;
        code = type.code;
        known = true;
      }
      if (!known) return refused("content_type");
      is_arrow_ = code == arrow;
      put("agdx.ct", kind_uint8, {static_cast<std::uint8_t>(code)});
    }
    const auto fingerprint = options_.get("schema_fingerprint");
    if (is_arrow_ == absent(fingerprint)) return refused("schema_fingerprint");
    if (!is_arrow_) return true;
    const auto bytes = fingerprint.bytes();
    if (bytes.size() != fingerprint_size) return refused("schema_fingerprint");
    put("agdx.sfp", kind_raw, {bytes.begin(), bytes.end()});
    return true;
  }

  bool projection() {
    const auto value = options_.get("projection_ref");
    return absent(value) || put_text("projection_ref", "agdx.ref", value);
  }

  bool schema() {
    const auto value = options_.get("schema_id");
    if (absent(value)) return true;
    std::uint64_t id = 0;
    if (!value.to_u64(id) || id > UINT32_MAX) return refused("schema_id");
    bytes::Buffer encoded;
    bytes::Writer(encoded).u32(static_cast<std::uint32_t>(id));
    put("agdx.sid", kind_uint32, std::move(encoded));
    return true;
  }

  bool inlined() {
    const auto value = options_.get("inline_payload");
    if (absent(value)) return true;
    if (!value.is(tape::Tag::yes) && !value.is(tape::Tag::no)) return refused("inline_payload");
    if (value.boolean()) put("agdx.inline", kind_bool, {1});
    return true;
  }

  // User metadata when `prefix` is empty, else indexed scalars.
  bool pairs(std::string_view option, std::string_view prefix) {
    const auto list = options_.get(option);
    if (absent(list)) return true;
    if (!list.is(tape::Tag::array) || (!prefix.empty() && list.count() > index_cap)) return refused(option);
    return each(list, [&](tape::Value pair, std::uint32_t) {
      if (!pair.is(tape::Tag::array) || pair.count() != 2) return refused(option);
      const auto name = pair.first().text();
      if (name.empty() || name.starts_with(index_prefix)) return refused(option);
      if (prefix.empty() && std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved))
        return refused(option);
      std::string key(prefix);
      key += name;
      if (key.size() > text_cap || !cbor::valid_utf8(bytes::as_bytes(key))) return refused(option);
      return put_text(option, key, pair.first().next());
    });
  }

  void finish() {
    std::size_t total = 0;
    for (const auto& header : out_) total += header.key.size() + header.value.size() + overhead;
    if (total > total_cap) refused("headers");
  }

  tape::Value options_;
  std::vector<RecordHeader>& out_;
  bool is_arrow_ = false;
  Error error_;
};

}  // namespace

Error record_headers(tape::Value options, std::vector<RecordHeader>& out) {
  return Headers(options, out).run();
}

}  // namespace tidemark::agdx
