#include "iggy/command/command.hpp"
#include "iggy/limits.hpp"
#include "iggy/operation.hpp"
#include "iggy/primitives.hpp"

namespace tidemark::iggy {

namespace {

void put_identifier(const Identifier& id, tape::Writer& out) {
  const auto mark = out.open(tape::Tag::map);
  out.key("kind");
  out.text(id.number ? "numeric" : "string");
  out.key("value");
  if (id.number) {
    out.u32(*id.number);
  } else {
    out.text(id.name);
  }
  out.close(mark, 2);
}

class Decoder {
 public:
  Decoder(bytes::Reader& in, Dialect dialect, tape::Writer& out) : in_(in), dialect_(dialect), out_(out) {}

  void map(Fields fields) {
    const auto mark = out_.open(tape::Tag::map);
    out_.close(mark, entries(fields));
  }

  std::uint32_t entries(Fields fields) {
    std::uint32_t count = 0;
    for (const auto& field : fields) {
      if (!in_.ok()) break;
      if ((field.in == In::v12) != is_v12(dialect_) && field.in != In::all) continue;
      if (field.tail && in_.at_end()) continue;
      if (field.kind == Kind::custom) {
        count += field.custom->decode(in_, dialect_, out_);
        continue;
      }
      out_.key(field.key);
      value(field);
      count += 1;
    }
    return count;
  }

 private:
  void options(std::span<const std::uint8_t> block, std::size_t at) {
    const auto mark = out_.open(tape::Tag::array);
    std::uint32_t count = 0;
    HeaderEntry entry;
    HeaderBlockReader reader(block);
    while (reader.next(entry)) {
      count += 1;
      const auto key = bytes::as_text(entry.key.data);
      if (entry.key.kind != header_kind::kString || !is_utf8(key) || count > limits::kOptionEntries ||
          repeats(block, key, count - 1))
        return in_.fail(Rule::options_block, at);
      const auto option = out_.open(tape::Tag::map);
      out_.key("key");
      out_.text(key);
      out_.key("value_kind");
      out_.u32(entry.value.kind);
      out_.key("value");
      out_.bytes(entry.value.data);
      out_.close(option, 3);
    }
    if (reader.error()) in_.fail(reader.error().rule, at + reader.error().position);
    if (block.size() > limits::kOptionsBlock) in_.fail(Rule::options_block, at);
    out_.close(mark, count);
  }

  static bool repeats(std::span<const std::uint8_t> block, std::string_view key, std::uint32_t before) {
    HeaderBlockReader reader(block);
    HeaderEntry entry;
    for (std::uint32_t index = 0; index < before && reader.next(entry); ++index)
      if (bytes::as_text(entry.key.data) == key) return true;
    return false;
  }

  void strategy() {
    static constexpr std::string_view kNames[] = {"", "offset", "timestamp", "first", "last", "next"};
    const auto strategy = read_strategy(in_);
    if (!in_.ok()) return;
    const auto kind = static_cast<std::uint8_t>(strategy.kind);
    const auto mark = out_.open(tape::Tag::map);
    out_.key("kind");
    out_.u32(kind);
    out_.key("name");
    out_.text(kNames[kind]);
    out_.key("value");
    out_.u64(strategy.value);
    out_.close(mark, 3);
  }

  void partitioning() {
    static constexpr std::string_view kNames[] = {"", "balanced", "partition_id", "messages_key"};
    const auto partitioning = read_partitioning(in_);
    if (!in_.ok()) return;
    const auto kind = static_cast<std::uint8_t>(partitioning.kind);
    const auto mark = out_.open(tape::Tag::map);
    out_.key("kind");
    out_.u32(kind);
    out_.key("name");
    out_.text(kNames[kind]);
    if (partitioning.kind == PartitioningKind::partition_id) {
      out_.key("partition_id");
      out_.u32(partitioning.partition_id);
    } else if (partitioning.kind == PartitioningKind::messages_key) {
      out_.key("key");
      out_.bytes(partitioning.key);
    }
    out_.close(mark, partitioning.kind == PartitioningKind::balanced ? 2 : 3);
  }

  void consumer(bool allow_external) {
    const auto consumer = read_consumer(in_, allow_external && is_v12(dialect_));
    const auto mark = out_.open(tape::Tag::map);
    out_.key("kind");
    out_.u32(static_cast<std::uint8_t>(consumer.kind));
    out_.key("id");
    put_identifier(consumer.id, out_);
    out_.close(mark, 2);
  }

  template <class Item>
  void list(std::uint32_t count, Item item) {
    const auto mark = out_.open(tape::Tag::array);
    for (std::uint32_t index = 0; index < count && in_.ok(); ++index) item();
    out_.close(mark, count);
  }

  void value(const Field& field) {
    switch (field.kind) {
      case Kind::u8: out_.u32(counted(field, in_.u8())); break;
      case Kind::u16: out_.u32(in_.u16()); break;
      case Kind::version:
      case Kind::u32: out_.u32(counted(field, in_.u32())); break;
      case Kind::u64: out_.u64(in_.u64()); break;
      case Kind::u128: {
        const auto low = in_.u64();
        out_.u128({low, in_.u64()});
        break;
      }
      case Kind::f32: out_.f32(std::bit_cast<float>(in_.u32())); break;
      case Kind::flag: {
        const auto at = in_.position();
        const auto flag = in_.u8();
        if (flag > 1) in_.fail(Rule::unknown_variant, at);
        out_.boolean(flag == 1);
        break;
      }
      case Kind::name: out_.text(read_name(in_)); break;
      case Kind::secret_text: out_.text(read_text(in_, in_.u8())); break;
      case Kind::text: out_.text(read_text(in_, in_.u32())); break;
      case Kind::context_text: {
        const auto text = read_text(in_, in_.u32());
        if (text.empty()) {
          out_.null();
        } else {
          out_.text(text);
        }
        break;
      }
      case Kind::bytes32: out_.bytes(in_.take(32)); break;
      case Kind::blob: out_.bytes(in_.take(in_.u32())); break;
      case Kind::identifier: put_identifier(read_identifier(in_), out_); break;
      case Kind::consumer: consumer(false); break;
      case Kind::offset_consumer: consumer(true); break;
      case Kind::strategy: strategy(); break;
      case Kind::optional_partition: {
        const auto partition = read_optional_partition(in_);
        if (partition) {
          out_.u32(*partition);
        } else {
          out_.null();
        }
        break;
      }
      case Kind::partitioning: partitioning(); break;
      case Kind::options: {
        const auto at = in_.position();
        options(in_.rest(), at);
        break;
      }
      case Kind::sized_options: {
        const auto length = in_.u32();
        const auto at = in_.position();
        options(in_.take(length), at);
        break;
      }
      case Kind::map: map(field.nested); break;
      case Kind::list: list(in_.u32(), [&] { map(field.nested); }); break;
      case Kind::list_counted: list(counted_, [&] { map(field.nested); }); break;
      case Kind::list_u8: list(in_.u8(), [&] { out_.u32(in_.u8()); }); break;
      case Kind::list_u32: list(in_.u32(), [&] { out_.u32(in_.u32()); }); break;
      case Kind::list_rest: {
        const auto mark = out_.open(tape::Tag::array);
        std::uint32_t count = 0;
        for (; in_.ok() && !in_.at_end(); ++count) map(field.nested);
        out_.close(mark, count);
        break;
      }
      case Kind::custom: break;  // map() has taken it
    }
  }

  std::uint32_t counted(const Field& field, std::uint32_t number) {
    if (field.counts) counted_ = number;
    return number;
  }

  bytes::Reader& in_;
  Dialect dialect_;
  tape::Writer& out_;
  std::uint32_t counted_ = 0;
};

Error decode_body(bool managed, const Command* command, bool is_reply, std::span<const std::uint8_t> body,
                  Dialect dialect, tape::Writer& out) {
  if (managed) {
    const auto mark = out.open(tape::Tag::map);
    out.key("opaque");
    out.bytes(body);
    out.close(mark, 1);
    return {};
  }
  Error error;
  if (command == nullptr) {
    error.rule = Rule::argument;
    error.set_path("command");
    return error;
  }
  const auto& fields = is_reply ? command->reply : command->request;
  bytes::Reader in(body);
  if (fields.count == 0 || (is_reply && command->single && body.empty())) {
    out.null();
  } else {
    decode_fields(fields, in, dialect, out);
  }
  in.expect_end();
  return in.error();
}

}  // namespace

void decode_fields(Fields fields, bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  Decoder(in, dialect, out).map(fields);
}

std::uint32_t decode_entries(Fields fields, bytes::Reader& in, Dialect dialect, tape::Writer& out) {
  return Decoder(in, dialect, out).entries(fields);
}

Error decode_reply(std::uint32_t command, std::span<const std::uint8_t> payload, Dialect dialect,
                   tape::Writer& out, const CommandSet& set) {
  return decode_body(is_managed(command), set.find(command), true, payload, dialect, out);
}

Error decode_request(std::uint32_t command, std::span<const std::uint8_t> body, Dialect dialect,
                     tape::Writer& out, const CommandSet& set) {
  return decode_body(is_managed(command), set.find(command), false, body, dialect, out);
}

}  // namespace tidemark::iggy
