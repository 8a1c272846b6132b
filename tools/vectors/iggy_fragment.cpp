#include "iggy_fragment.hpp"

#include "iggy/checksum.hpp"
#include "iggy/command/batch_tape.hpp"
#include "iggy/command/command.hpp"
#include "iggy/message_batch.hpp"
#include "iggy/primitives.hpp"
#include "tape_compare.hpp"

namespace vectors {

namespace {

using namespace tidemark;
using namespace tidemark::iggy;
using Json = nlohmann::json;
using Bytes = std::span<const std::uint8_t>;

enum class Piece { hashes, identifier, consumer, strategy, partitioning, headers, batch, unknown };

Piece piece_of(const Json& fields) {
  if (fields.contains("cases")) return Piece::hashes;
  if (fields.contains("messages")) return Piece::batch;
  if (fields.contains("entries")) return Piece::headers;
  if (fields.contains("id")) return Piece::consumer;
  if (fields.contains("kind") && fields["kind"].is_string()) return Piece::identifier;
  const auto name = fields.value("name", "");
  if (name == "balanced" || name == "partition_id" || name == "messages_key") return Piece::partitioning;
  return fields.contains("value") ? Piece::strategy : Piece::unknown;
}

Piece piece_of(const std::string& name) {
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (has("batch") || has("message")) return Piece::batch;
  if (has("partitioning")) return Piece::partitioning;
  if (has("identifier")) return Piece::identifier;
  if (has("consumer")) return Piece::consumer;
  if (has("strategy")) return Piece::strategy;
  if (has("header") || has("option")) return Piece::headers;
  return Piece::unknown;
}

constexpr Field kIdentifier[] = {{"piece", Kind::identifier}};
constexpr Field kConsumer[] = {{"piece", Kind::offset_consumer}};
constexpr Field kStrategy[] = {{"piece", Kind::strategy}};
constexpr Field kPartitioning[] = {{"piece", Kind::partitioning}};

Fields fields_of(Piece piece) {
  switch (piece) {
    case Piece::identifier: return kIdentifier;
    case Piece::consumer: return kConsumer;
    case Piece::strategy: return kStrategy;
    case Piece::partitioning: return kPartitioning;
    default: return {};
  }
}

Error decode_headers(Bytes bytes) {
  HeaderEntry entry;
  HeaderBlockReader reader(bytes);
  while (reader.next(entry)) {
  }
  return reader.error();
}

// {piece: value} on the tape.
Error decode_piece(Piece piece, Dialect dialect, Bytes bytes, bytes::Buffer& out) {
  tape::Writer writer(out);
  bytes::Reader in(bytes);
  if (piece == Piece::batch || piece == Piece::headers) {
    const auto mark = writer.open(tape::Tag::map);
    writer.key("piece");
    if (piece == Piece::batch) {
      decode_batch(in, dialect, writer);
    } else {
      if (const auto error = decode_headers(bytes)) return error;
      decode_header_block(in.rest(), writer);
    }
    writer.close(mark, 1);
  } else {
    decode_fields(fields_of(piece), in, dialect, writer);
  }
  in.expect_end();
  return in.error();
}

std::string check_hashes(const Json& fields, Bytes bytes) {
  bool repeated = false;  // `hex` is the digest of one of the cases
  for (const auto& item : fields["cases"]) {
    bytes::Buffer input;
    bytes::Buffer digest;
    bytes::Writer writer(digest);
    if (item.contains("xxh3_64")) {
      if (!from_hex(item["input_hex"], input)) return "input_hex";
      const auto hash = xxh3_64(input);
      writer.u64(hash);
      if (item["xxh3_64"] != Json(std::to_string(hash))) return "xxh3 of " + item["input"].dump();
      if (item["little_endian_hex"] != Json(to_hex(digest)))
        return "little_endian_hex of " + item["input"].dump();
      const bytes::Buffer big(digest.rbegin(), digest.rend());
      if (item["xxh3_64_hex"] != Json(to_hex(big))) return "xxh3_64_hex of " + item["input"].dump();
    } else if (item.contains("xxh32")) {
      if (!from_hex(item["key_hex"], input)) return "key_hex";
      const auto hash = xxh32(input);
      writer.u32(hash);
      if (item["xxh32"] != hash) return "xxh32 of " + item["key_hex"].dump();
      const bytes::Buffer big(digest.rbegin(), digest.rend());
      if (item.value("xxh32_hex", to_hex(big)) != to_hex(big))
        return "xxh32_hex of " + item["key_hex"].dump();
      for (const auto& [key, partition] : item.items()) {
        if (!key.starts_with("partition_of_")) continue;
        const auto count = static_cast<std::uint32_t>(std::stoul(key.substr(13)));
        if (partition != partition_of_key(input, count)) return key + " of " + item["key_hex"].dump();
      }
    } else {
      return "unknown hash";
    }
    repeated = repeated || std::equal(digest.begin(), digest.end(), bytes.begin(), bytes.end());
  }
  return repeated ? "" : "hex is the digest of no case";
}

// The meaning of a header's value by its kind, as the sidecar writes it.
std::string check_header_value(const Json& expected, const HeaderField& field) {
  bytes::Buffer out;
  tape::Writer writer(out);
  std::uint64_t low = 0;
  const auto data = field.data;
  std::memcpy(&low, data.data(), std::min<std::size_t>(data.size(), 8));
  static constexpr std::size_t kSizes[] = {0, 0, 0, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8};
  if (field.kind < 16 && kSizes[field.kind] != 0 && kSizes[field.kind] != data.size())
    return "size of the value";
  switch (field.kind) {
    case 2: writer.text(bytes::as_text(data)); break;
    case 3: writer.boolean(low == 1); break;
    case 4: writer.i64(static_cast<std::int8_t>(low)); break;
    case 5: writer.i64(static_cast<std::int16_t>(low)); break;
    case 6: writer.i64(static_cast<std::int32_t>(low)); break;
    case 7: writer.i64(static_cast<std::int64_t>(low)); break;
    case 9:
    case 10:
    case 11:
    case 12: writer.u64(low); break;
    case 8:
    case 13: {
      tape::U128 wide;
      std::memcpy(&wide, data.data(), 16);
      if (field.kind == 13 || wide.high >> 63 == 0) {
        writer.u128(wide);
        break;
      }
      // Two's complement: the magnitude with a minus in front.
      const tape::U128 magnitude{~wide.low + 1, ~wide.high + (wide.low == 0 ? 1 : 0)};
      return expected == Json("-" + to_text(magnitude)) ? "" : "value: decoded -" + to_text(magnitude);
    }
    case 14: writer.f32(std::bit_cast<float>(static_cast<std::uint32_t>(low))); break;
    case 15: writer.f64(std::bit_cast<double>(low)); break;
    default: writer.bytes(data); break;
  }
  return compare(expected, tape::Value(out), "value");
}

// Back to the same bytes, by the same functions that requests are written with.
std::string check_encoding(Piece piece, Dialect dialect, tape::Value decoded, Bytes bytes) {
  bytes::Buffer out;
  Error error;
  if (piece == Piece::headers) {
    HeaderEntry entry;
    bytes::Writer writer(out);
    for (HeaderBlockReader reader(bytes); reader.next(entry);) write_header_entry(entry, writer);
  } else if (piece == Piece::batch) {
    BatchReader batch(bytes, dialect);
    if (batch.header().base_timestamp != 0) return "";  // the stored form is the server's to write
    std::vector<OutgoingMessage> messages;
    BatchMessage message;
    while (batch.next(message))
      messages.push_back({message.id, message.origin_timestamp, message.payload, message.headers});
    error = encode_batch(messages, dialect, out,
                         batch.header().has_producer ? &batch.header().producer : nullptr);
  } else {
    error = encode_fields(fields_of(piece), decoded, dialect, out);
  }
  if (error) return "encode: " + std::string(rule_name(error.rule));
  return std::equal(out.begin(), out.end(), bytes.begin(), bytes.end())
             ? ""
             : "encodes to other bytes: " + to_hex(out);
}

}  // namespace

std::string run_fragment(const Json& sidecar, Dialect dialect, Bytes bytes) {
  const auto& fields = sidecar["fields"];
  const auto piece = piece_of(fields);
  if (piece == Piece::unknown) return "unsupported kind of fragment";
  if (piece == Piece::hashes) return check_hashes(fields, bytes);
  bytes::Buffer out;
  if (const auto error = decode_piece(piece, dialect, bytes, out))
    return std::string(rule_name(error.rule)) + " at " + std::to_string(error.position);
  const tape::Value decoded(out);
  if (piece == Piece::headers) {
    if (auto problem = compare(fields["entries"], decoded.get("piece"), "entries"); !problem.empty())
      return problem;
    HeaderEntry first;
    HeaderBlockReader(bytes).next(first);
    if (fields.contains("value"))
      if (auto problem = check_header_value(fields["value"], first.value); !problem.empty()) return problem;
  } else if (auto problem = compare(fields, decoded.get("piece"), "fields"); !problem.empty()) {
    return problem;
  }
  return check_encoding(piece, dialect, decoded, bytes);
}

Error refuse_fragment(const Json& sidecar, Dialect dialect, Bytes bytes) {
  auto piece = piece_of(sidecar["fields"]);
  if (piece == Piece::unknown) piece = piece_of(sidecar.value("name", ""));
  bytes::Buffer out;
  if (piece != Piece::unknown) return decode_piece(piece, dialect, bytes, out);
  return {};  // counts as accepted: a kind that is not supported must not pass
}

}  // namespace vectors
