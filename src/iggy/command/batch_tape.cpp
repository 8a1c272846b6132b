#include "iggy/command/batch_tape.hpp"

#include <limits>

#include "iggy/command/records.hpp"
#include "iggy/message_batch.hpp"
#include "iggy/primitives.hpp"

namespace tidemark::iggy {

namespace {

constexpr Field kSendTarget[] = {
    {"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}, {"partitioning", Kind::partitioning}};

Error refusal(Rule rule, std::string_view path) {
  Error error;
  error.rule = rule;
  error.set_path(path);
  return error;
}

bool encode_header_block(tape::Value list, bytes::Buffer& out) {
  if (list.is(tape::Tag::bytes)) {
    bytes::Writer(out).bytes(list.bytes());
    return true;
  }
  if (list.exists() && !list.is_null() && !list.is(tape::Tag::array)) return false;
  bytes::Writer writer(out);
  auto item = list.first();
  for (std::uint32_t index = 0; index < list.count(); ++index, item = item.next()) {
    std::uint64_t key_kind = header_kind::kString;
    std::uint64_t value_kind = 0;
    const auto given = item.get("key_kind");
    if ((given.exists() && !given.to_u64(key_kind)) || !item.get("value_kind").to_u64(value_kind))
      return false;
    if (key_kind > 255 || value_kind > 255) return false;
    const auto key = item.get("key");
    const auto key_bytes = key.is(tape::Tag::text) ? bytes::as_bytes(key.text()) : key.bytes();
    if (!write_header_entry({{static_cast<std::uint8_t>(key_kind), key_bytes},
                             {static_cast<std::uint8_t>(value_kind), item.get("value").bytes()}},
                            writer))
      return false;
  }
  return true;
}

bool read_producer(tape::Value value, Producer& producer) {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  if (!value.get("producer_id").to_u64(producer.id) || !value.get("epoch").to_u64(epoch) ||
      !value.get("base_sequence").to_u64(sequence) || epoch > INT16_MAX || sequence > INT32_MAX)
    return false;
  producer.epoch = static_cast<std::uint16_t>(epoch);
  producer.base_sequence = static_cast<std::uint32_t>(sequence);
  return true;
}

void encode_send(tape::Value args, Dialect dialect, bytes::Buffer& out, Error& error) {
  bytes::Writer writer(out);
  const auto start = out.size();
  writer.u32(0);
  error = encode_fields(kSendTarget, args, dialect, out);
  if (error) return;

  const auto batch = args.get("batch");
  const auto list = batch.get("messages");
  Producer producer;
  const auto given = batch.get("producer");
  const bool has_producer = given.exists() && !given.is_null();
  if (has_producer && !read_producer(given, producer)) {
    error = refusal(Rule::producer_section, "batch.producer");
    return;
  }
  // Spans into one buffer of header blocks: it must not move once they are taken.
  bytes::Buffer headers;
  std::vector<std::size_t> ends;
  std::vector<OutgoingMessage> messages;
  auto item = list.first();
  for (std::uint32_t index = 0; index < list.count() && item.exists(); ++index, item = item.next()) {
    OutgoingMessage message;
    const auto id = item.get("id");
    if ((id.exists() && !id.to_u128(message.id)) ||
        !item.get("origin_timestamp").to_u64(message.timestamp_micros) ||
        !encode_header_block(item.get("user_headers"), headers)) {
      error = refusal(Rule::argument, "batch.messages");
      return;
    }
    message.payload = item.get("payload").bytes();
    ends.push_back(headers.size());
    messages.push_back(message);
  }
  std::size_t begin = 0;
  for (std::size_t index = 0; index < messages.size(); ++index) {
    messages[index].headers = std::span(headers).subspan(begin, ends[index] - begin);
    begin = ends[index];
  }
  writer.u32(static_cast<std::uint32_t>(messages.size()));
  writer.patch_u32(start, static_cast<std::uint32_t>(out.size() - start - 4));
  error = encode_batch(messages, dialect, out, has_producer ? &producer : nullptr);
  if (error) error.set_path("batch");
}

std::uint32_t decode_send(bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  static constexpr Field kMetadata[] = {{"stream_id", Kind::identifier},
                                        {"topic_id", Kind::identifier},
                                        {"partitioning", Kind::partitioning},
                                        {"messages_count", Kind::u32}};
  const auto length = in.u32();
  out.key("metadata_length");
  out.u32(length);
  const auto at = in.position();
  const auto metadata = in.take(length);
  bytes::Reader fields(metadata);
  const auto entries = decode_entries(kMetadata, fields, dialect, out);
  if (in.ok() && !fields.ok()) in.fail(fields.error().rule, at + fields.error().position);
  if (in.ok() && !fields.at_end()) in.fail(Rule::metadata_length, at - 4);
  if (!in.ok()) return 0;
  std::uint32_t count = 0;
  std::memcpy(&count, metadata.data() + metadata.size() - 4, 4);
  out.key("batch");
  if (decode_batch(in, dialect, out) != count) in.fail(Rule::count_mismatch, at + length - 4);
  return entries + 2;
}

// Records up to the end of the reader; returns the messages in them.
std::uint64_t decode_records(bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  const auto mark = out.open(tape::Tag::array);
  std::uint32_t count = 0;
  std::uint64_t messages = 0;
  for (; in.ok() && !in.at_end(); ++count) messages += decode_batch(in, dialect, out);
  out.close(mark, count);
  return messages;
}

std::uint32_t decode_poll_reply(bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  out.key("partition_id");
  out.u32(in.u32());
  out.key("current_offset");
  out.u64(in.u64());
  const auto at = in.position();
  const auto count = in.u32();
  out.key("messages_count");
  out.u32(count);
  if (is_v12(dialect)) {
    out.key("context");
    decode_fields(record::kContext, in, dialect, out);
  }
  out.key("batches");
  if (decode_records(in, dialect, out) != count) in.fail(Rule::count_mismatch, at);
  return is_v12(dialect) ? 5 : 4;
}

// The entries come first and the records of all of them after, so the entries are walked beside the records.
std::uint32_t decode_fetch_reply(bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  static constexpr Field kSection[] = {{"partition_id", Kind::u32},
                                       {"status", Kind::u32},
                                       {"current_offset", Kind::u64},
                                       {"messages_count", Kind::u32},
                                       {"context", Kind::map, record::kContext},
                                       {"next_offset", Kind::u64},
                                       {"records_len", Kind::u32}};
  constexpr std::size_t kEntrySize = 56;
  const auto count = in.u32();
  if (count > in.remaining() / kEntrySize) in.fail(Rule::truncated);
  const auto entries = in.take(in.ok() ? count * kEntrySize : 0);
  out.key("sections");
  const auto list = out.open(tape::Tag::array);
  for (std::uint32_t index = 0; index < count && in.ok(); ++index) {
    const auto bytes = entries.subspan(index * kEntrySize, kEntrySize);
    std::uint32_t messages = 0;
    std::uint32_t length = 0;
    std::memcpy(&messages, bytes.data() + 16, 4);
    std::memcpy(&length, bytes.data() + 52, 4);
    bytes::Reader entry(bytes);
    const auto section = out.open(tape::Tag::map);
    const auto written = decode_entries(kSection, entry, dialect, out);
    out.key("batches");
    const auto at = in.position();
    bytes::Reader records(in.take(length));
    if (in.ok() && decode_records(records, dialect, out) != messages) records.fail(Rule::count_mismatch);
    if (!records.ok()) in.fail(records.error().rule, at + records.error().position);
    out.close(section, written + 1);
  }
  out.close(list, count);
  return 1;
}

void put_message(const BatchMessage& message, const BatchHeader& batch, tape::Writer& out) {
  const auto mark = out.open(tape::Tag::map);
  out.key("checksum");
  out.u64(message.checksum);
  out.key("id");
  out.u128(message.id);
  out.key("offset_delta");
  out.u32(message.offset_delta);
  out.key("timestamp_delta");
  out.u32(message.timestamp_delta);
  out.key("user_headers_length");
  out.u32(static_cast<std::uint32_t>(message.headers.size()));
  out.key("payload_length");
  out.u32(static_cast<std::uint32_t>(message.payload.size()));
  out.key("offset");
  out.u64(message.offset);
  out.key("timestamp");
  out.u64(batch.base_timestamp);
  out.key("origin_timestamp");
  out.u64(message.origin_timestamp);
  out.key("payload");
  out.bytes(message.payload);
  out.key("user_headers");
  decode_header_block(message.headers, out);
  out.close(mark, 11);
}

}  // namespace

std::uint32_t decode_batch(bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  // The reader has no look-ahead: take the rest, and walk the reader on from a copy.
  const auto at = in.position();
  auto ahead = in;
  BatchReader batch(ahead.rest(), dialect);
  if (batch.error()) {
    in.fail(batch.error().rule, at + batch.error().position);
    return 0;
  }
  in.skip(batch.size());
  const auto& header = batch.header();
  const auto mark = out.open(tape::Tag::map);
  out.key("partition_id");
  out.u64(header.partition_id);
  out.key("base_offset");
  out.u64(header.base_offset);
  out.key("base_timestamp");
  out.u64(header.base_timestamp);
  out.key("origin_timestamp");
  out.u64(header.origin_timestamp);
  out.key("batch_length");
  out.u64(header.length);
  out.key("batch_checksum");
  out.u64(header.checksum);
  out.key("message_count");
  out.u32(header.count);
  out.key("producer");
  if (header.has_producer) {
    const auto producer = out.open(tape::Tag::map);
    out.key("producer_id");
    out.u64(header.producer.id);
    out.key("epoch");
    out.u32(header.producer.epoch);
    out.key("base_sequence");
    out.u32(header.producer.base_sequence);
    out.close(producer, 3);
  } else {
    out.null();
  }
  out.key("messages");
  const auto messages = out.open(tape::Tag::array);
  BatchMessage message;
  while (batch.next(message)) put_message(message, header, out);
  out.close(messages, header.count);
  out.close(mark, 9);
  return header.count;
}

void decode_header_block(std::span<const std::uint8_t> block, tape::Writer& out) {
  HeaderEntry entry;
  HeaderBlockReader check(block);
  while (check.next(entry)) {
  }
  if (check.error()) return out.bytes(block);
  const auto mark = out.open(tape::Tag::array);
  std::uint32_t count = 0;
  for (HeaderBlockReader reader(block); reader.next(entry); ++count) {
    const auto item = out.open(tape::Tag::map);
    out.key("key_kind");
    out.u32(entry.key.kind);
    out.key("key");
    out.bytes(entry.key.data);
    out.key("value_kind");
    out.u32(entry.value.kind);
    out.key("value");
    out.bytes(entry.value.data);
    out.close(item, 4);
  }
  out.close(mark, count);
}

const Custom kSendBody{encode_send, decode_send};
const Custom kPollReply{nullptr, decode_poll_reply};
const Custom kFetchReply{nullptr, decode_fetch_reply};

}  // namespace tidemark::iggy
