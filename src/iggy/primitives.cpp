#include "iggy/primitives.hpp"

namespace tidemark::iggy {

namespace {

constexpr std::size_t kMaxShort = 255;

bool is_short(std::size_t length) { return length >= 1 && length <= kMaxShort; }

}  // namespace

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto* end = at + text.size();
  while (at < end) {
    const auto lead = *at++;
    if (lead < 0x80) continue;
    unsigned more = 0;
    std::uint8_t low = 0x80;
    std::uint8_t high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      if (lead == 0xE0) low = 0xA0;   // no overlong forms
      if (lead == 0xED) high = 0x9F;  // no surrogates
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;  // nothing above U+10FFFF
    } else {
      return false;
    }
    for (; more > 0; --more, low = 0x80, high = 0xBF)
      if (at == end || *at < low || *at > high)
        return false;
      else
        ++at;
  }
  return true;
}

bool write_name(std::string_view name, bytes::Writer& out) {
  if (!is_short(name.size()) || !is_utf8(name)) return false;
  out.u8(static_cast<std::uint8_t>(name.size()));
  out.text(name);
  return true;
}

bool write_identifier(const Identifier& id, bytes::Writer& out) {
  if (id.number) {
    out.u8(1);
    out.u8(4);
    out.u32(*id.number);
    return true;
  }
  if (!is_short(id.name.size()) || !is_utf8(id.name)) return false;
  out.u8(2);
  return write_name(id.name, out);
}

bool write_consumer(const Consumer& consumer, bytes::Writer& out) {
  out.u8(static_cast<std::uint8_t>(consumer.kind));
  return write_identifier(consumer.id, out);
}

bool write_partitioning(const Partitioning& partitioning, bytes::Writer& out) {
  switch (partitioning.kind) {
    case PartitioningKind::balanced:
      out.u8(1);
      out.u8(0);
      return true;
    case PartitioningKind::partition_id:
      out.u8(2);
      out.u8(4);
      out.u32(partitioning.partition_id);
      return true;
    case PartitioningKind::messages_key:
      if (!is_short(partitioning.key.size())) return false;
      out.u8(3);
      out.u8(static_cast<std::uint8_t>(partitioning.key.size()));
      out.bytes(partitioning.key);
      return true;
  }
  return false;
}

void write_strategy(const Strategy& strategy, bytes::Writer& out) {
  out.u8(static_cast<std::uint8_t>(strategy.kind));
  out.u64(strategy.value);
}

void write_optional_partition(std::optional<std::uint32_t> partition, bytes::Writer& out) {
  out.u8(partition ? 1 : 0);
  out.u32(partition.value_or(0));
}

std::string_view read_text(bytes::Reader& in, std::size_t length) {
  const auto at = in.position();
  const auto text = in.text(length);
  if (is_utf8(text)) return text;
  in.fail(Rule::invalid_utf8, at);
  return {};
}

std::string_view read_name(bytes::Reader& in) {
  const auto at = in.position();
  const auto length = in.u8();
  if (in.ok() && length == 0) in.fail(Rule::name_length, at);
  return read_text(in, length);
}

Identifier read_identifier(bytes::Reader& in) {
  const auto at = in.position();
  const auto kind = in.u8();
  const auto length = in.u8();
  if (!in.ok()) return {};
  if (kind != 1 && kind != 2) {
    in.fail(Rule::identifier_kind, at);
  } else if (kind == 1 ? length != 4 : length == 0) {
    in.fail(Rule::identifier_length, at + 1);
  } else if (kind == 1) {
    return Identifier::numeric(in.u32());
  } else {
    return Identifier::named(read_text(in, length));
  }
  return {};
}

Consumer read_consumer(bytes::Reader& in, bool allow_external) {
  const auto at = in.position();
  const auto kind = in.u8();
  if (in.ok() && (kind < 1 || kind > (allow_external ? 3 : 2))) in.fail(Rule::consumer_kind, at);
  return {static_cast<ConsumerKind>(kind), read_identifier(in)};
}

Strategy read_strategy(bytes::Reader& in) {
  const auto at = in.position();
  const auto kind = in.u8();
  if (in.ok() && (kind < 1 || kind > 5)) in.fail(Rule::strategy_kind, at);
  return {static_cast<StrategyKind>(kind), in.u64()};
}

Partitioning read_partitioning(bytes::Reader& in) {
  const auto at = in.position();
  Partitioning partitioning;
  const auto kind = in.u8();
  const auto length = in.u8();
  if (!in.ok()) return partitioning;
  partitioning.kind = static_cast<PartitioningKind>(kind);
  if (kind == 1 && length == 0) return partitioning;
  if (kind == 2 && length == 4) {
    partitioning.partition_id = in.u32();
  } else if (kind == 3 && length > 0) {
    partitioning.key = in.take(length);
  } else {
    in.fail(Rule::partitioning, at);
  }
  return partitioning;
}

std::optional<std::uint32_t> read_optional_partition(bytes::Reader& in) {
  const auto at = in.position();
  const auto flag = in.u8();
  const auto partition = in.u32();
  if (in.ok() && flag > 1) in.fail(Rule::unknown_variant, at);
  return flag == 1 ? std::optional(partition) : std::nullopt;
}

bool write_header_entry(const HeaderEntry& entry, bytes::Writer& out) {
  for (const auto* field : {&entry.key, &entry.value})
    if (field->kind == 0 || !is_short(field->data.size())) return false;
  for (const auto* field : {&entry.key, &entry.value}) {
    out.u8(field->kind);
    out.u32(static_cast<std::uint32_t>(field->data.size()));
    out.bytes(field->data);
  }
  return true;
}

HeaderField HeaderBlockReader::field() {
  const auto at = in_.position();
  const auto kind = in_.u8();
  const auto length = in_.u32();
  if (in_.ok() && (kind == 0 || !is_short(length))) in_.fail(Rule::header_block, at);
  return {kind, in_.take(length)};
}

bool HeaderBlockReader::next(HeaderEntry& out) {
  if (in_.at_end()) return false;
  out.key = field();
  if (in_.ok() && in_.at_end()) in_.fail(Rule::header_block);  // a key without a value
  out.value = field();
  return in_.ok();
}

bool write_poll(const Poll& poll, bytes::Writer& out) {
  if (!write_consumer(poll.consumer, out) || !write_identifier(poll.stream, out) ||
      !write_identifier(poll.topic, out))
    return false;
  write_optional_partition(poll.partition, out);
  write_strategy(poll.strategy, out);
  out.u32(poll.count);
  out.u8(poll.auto_commit ? 1 : 0);
  return true;
}

bool write_send_prefix(const Identifier& stream, const Identifier& topic, const Partitioning& partitioning,
                       std::uint32_t count, bytes::Writer& out) {
  const auto start = out.size();
  out.u32(0);
  if (!write_identifier(stream, out) || !write_identifier(topic, out) ||
      !write_partitioning(partitioning, out))
    return false;
  out.u32(count);
  out.patch_u32(start, static_cast<std::uint32_t>(out.size() - start - 4));
  return true;
}

bool write_identifiers(std::span<const Identifier> ids, bytes::Writer& out) {
  for (const auto& id : ids)
    if (!write_identifier(id, out)) return false;
  return true;
}

}  // namespace tidemark::iggy
