#include <charconv>
#include <limits>
#include <optional>

#include "iggy/command/command.hpp"
#include "iggy/limits.hpp"
#include "iggy/operation.hpp"
#include "iggy/primitives.hpp"

namespace tidemark::iggy {

namespace {

// Where the walk stands, for errors: keys joined by dots, cut to what an Error holds.
class Path {
 public:
  std::size_t enter(std::string_view key) {
    const auto before = length_;
    if (length_ > 0 && length_ < sizeof text_) text_[length_++] = '.';
    const auto room = sizeof text_ - length_;
    const auto part = key.size() < room ? key.size() : room;
    std::memcpy(text_ + length_, key.data(), part);
    length_ += part;
    return before;
  }
  std::size_t enter(std::uint32_t index) {
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, index).ptr;
    return enter({digits, static_cast<std::size_t>(end - digits)});
  }
  void leave(std::size_t before) { length_ = before; }
  std::string_view text() const { return {text_, length_}; }

 private:
  char text_[96] = {};
  std::size_t length_ = 0;
};

class Encoder {
 public:
  Encoder(Dialect dialect, bytes::Buffer& out) : dialect_(dialect), buffer_(out), out_(out) {}

  void fields(Fields fields, tape::Value args) {
    for (const auto& field : fields) {
      if (error_) return;
      if ((field.in == In::v12) != is_v12(dialect_) && field.in != In::all) continue;
      if (field.kind == Kind::custom) {
        field.custom->encode(args, dialect_, buffer_, error_);
        continue;
      }
      const auto before = path_.enter(field.key);
      value(field, args.get(field.key));
      path_.leave(before);
    }
  }

  const Error& error() const { return error_; }

 private:
  void refuse(Rule rule = Rule::argument) {
    if (error_) return;
    error_.rule = rule;
    error_.set_path(path_.text());
  }

  std::uint64_t number(const Field& field, tape::Value value, std::uint64_t most) {
    std::uint64_t whole = 0;
    if (field.optional && (!value.exists() || value.is_null())) return field.otherwise;
    if (!value.to_u64(whole) || whole > most) refuse();
    return whole;
  }

  std::string_view text(tape::Value value, std::size_t most) {
    const auto text = value.text();
    if (!value.is(tape::Tag::text) || text.size() > most || !is_utf8(text)) refuse();
    return text;
  }

  std::span<const std::uint8_t> bytes(tape::Value value) {
    if (!value.is(tape::Tag::bytes)) refuse();
    return value.bytes();
  }

  Identifier identifier(tape::Value value) {
    std::uint64_t number = 0;
    // {kind, value}, or just the value: a number is a numeric id and a text is a name, whatever it looks
    // like.
    const auto kind = value.get("kind");
    if (value.is(tape::Tag::map)) value = value.get("value");
    if (value.is(tape::Tag::text)) {
      if (kind.exists() && kind.text() != "string") refuse(Rule::identifier_kind);
      return Identifier::named(value.text());
    }
    if (kind.exists() && kind.text() != "numeric") refuse(Rule::identifier_kind);
    if (!value.to_u64(number) || number > std::numeric_limits<std::uint32_t>::max()) refuse();
    return Identifier::numeric(static_cast<std::uint32_t>(number));
  }

  void consumer(tape::Value value, bool allow_external) {
    std::uint64_t kind = 1;
    const auto given = value.get("kind");
    const std::uint64_t most = allow_external && is_v12(dialect_) ? 3 : 2;
    if (given.exists() && (!given.to_u64(kind) || kind < 1 || kind > most))
      return refuse(Rule::consumer_kind);
    const Consumer consumer{static_cast<ConsumerKind>(kind), identifier(value.get("id"))};
    if (!error_ && !write_consumer(consumer, out_)) refuse(Rule::identifier_length);
  }

  void strategy(tape::Value value) {
    static constexpr std::string_view kNames[] = {"offset", "timestamp", "first", "last", "next"};
    std::uint64_t kind = 0;
    Strategy strategy;
    for (std::uint64_t index = 0; index < 5; ++index)
      if (value.get("name").text() == kNames[index]) kind = index + 1;
    const auto given = value.get("kind");
    if (given.exists() && !given.to_u64(kind)) kind = 0;
    if (kind < 1 || kind > 5) return refuse(Rule::strategy_kind);
    strategy.kind = static_cast<StrategyKind>(kind);
    const auto start = value.get("value");
    if (start.exists() && !start.to_u64(strategy.value)) return refuse();
    write_strategy(strategy, out_);
  }

  void options(tape::Value list) {
    if (list.exists() && !list.is_null() && !list.is(tape::Tag::array)) return refuse(Rule::options_block);
    if (list.count() > limits::kOptionEntries) return refuse(Rule::options_block);
    const auto start = out_.size();
    auto item = list.first();
    for (std::uint32_t index = 0; index < list.count() && !error_; ++index, item = item.next()) {
      const auto before = path_.enter(index);
      auto other = list.first();
      for (std::uint32_t earlier = 0; earlier < index; ++earlier, other = other.next())
        if (other.get("key").text() == item.get("key").text()) refuse(Rule::options_block);
      option(item);
      path_.leave(before);
    }
    if (out_.size() - start > limits::kOptionsBlock) refuse(Rule::options_block);
  }

  // {key, value_kind, value: bytes}; or {key, value} with a text, boolean or whole number, which then gets
  // the kind that the option catalogue lists for it.
  void option(tape::Value item) {
    const auto key = item.get("key");
    const auto value = item.get("value");
    std::uint8_t number[8];
    HeaderEntry entry{{header_kind::kString, bytes::as_bytes(key.text())}, {}};
    if (!is_utf8(key.text())) return refuse(Rule::invalid_utf8);
    std::uint64_t whole = 0;
    if (value.is(tape::Tag::bytes)) {
      std::uint64_t kind = 0;
      if (!item.get("value_kind").to_u64(kind) || kind < 1 || kind > 255) return refuse(Rule::options_block);
      entry.value = {static_cast<std::uint8_t>(kind), value.bytes()};
    } else if (value.is(tape::Tag::text)) {
      entry.value = {header_kind::kString, bytes::as_bytes(value.text())};
    } else if (value.is(tape::Tag::yes) || value.is(tape::Tag::no)) {
      number[0] = value.boolean() ? 1 : 0;
      entry.value = {header_kind::kBool, {number, 1}};
    } else if (value.to_u64(whole)) {
      const bool narrow = key.text() == "messages_required_to_save" || key.text() == "replication_factor";
      if (narrow && whole > std::numeric_limits<std::uint32_t>::max()) return refuse();
      std::memcpy(number, &whole, sizeof number);
      entry.value =
          narrow ? HeaderField{header_kind::kUint32, {number, 4}} : HeaderField{header_kind::kUint64, number};
    } else {
      return refuse();
    }
    if (!write_header_entry(entry, out_)) refuse(Rule::options_block);
  }

  void partitioning(tape::Value value) {
    std::uint64_t kind = 1;
    std::uint64_t partition = 0;
    Partitioning partitioning;
    const auto given = value.get("kind");
    if (given.exists() && (!given.to_u64(kind) || kind < 1 || kind > 3)) return refuse(Rule::partitioning);
    partitioning.kind = static_cast<PartitioningKind>(kind);
    if (kind == 2 && (!value.get("partition_id").to_u64(partition) ||
                      partition > std::numeric_limits<std::uint32_t>::max()))
      return refuse(Rule::partitioning);
    partitioning.partition_id = static_cast<std::uint32_t>(partition);
    partitioning.key = value.get("key").bytes();
    if (!write_partitioning(partitioning, out_)) refuse(Rule::partitioning);
  }

  void list(const Field& field, tape::Value items) {
    if (!items.is(tape::Tag::array)) return refuse();
    out_.u32(items.count());
    auto item = items.first();
    for (std::uint32_t index = 0; index < items.count() && !error_; ++index, item = item.next()) {
      const auto before = path_.enter(index);
      fields(field.nested, item);
      path_.leave(before);
    }
  }

  void value(const Field& field, tape::Value value) {
    constexpr auto k32 = std::numeric_limits<std::uint32_t>::max();
    switch (field.kind) {
      case Kind::u8: out_.u8(static_cast<std::uint8_t>(number(field, value, 255))); break;
      case Kind::u16: out_.u16(static_cast<std::uint16_t>(number(field, value, 65535))); break;
      case Kind::u32: out_.u32(static_cast<std::uint32_t>(number(field, value, k32))); break;
      case Kind::u64: out_.u64(number(field, value, UINT64_MAX)); break;
      case Kind::u128: {
        tape::U128 whole;
        if (!value.to_u128(whole)) refuse();
        out_.u64(whole.low);
        out_.u64(whole.high);
        break;
      }
      case Kind::flag:
        if (value.exists() && !value.is(tape::Tag::yes) && !value.is(tape::Tag::no)) refuse();
        out_.u8(value.boolean() ? 1 : 0);
        break;
      case Kind::version:
        out_.u32(value.exists() ? static_cast<std::uint32_t>(number(field, value, k32))
                                : version_of(dialect_));
        break;
      case Kind::name:
        if (!value.is(tape::Tag::text)) refuse();
        if (!error_ && !write_name(value.text(), out_))
          refuse(is_utf8(value.text()) ? Rule::name_length : Rule::invalid_utf8);
        break;
      case Kind::secret_text: {
        const auto content = text(value, 255);
        out_.u8(static_cast<std::uint8_t>(content.size()));
        out_.text(content);
        break;
      }
      case Kind::context_text:
      case Kind::text: {
        const bool absent = !value.exists() || value.is_null();
        const auto content =
            absent && field.kind == Kind::context_text ? std::string_view{} : text(value, k32);
        out_.u32(static_cast<std::uint32_t>(content.size()));
        out_.text(content);
        break;
      }
      case Kind::bytes32:
        if (bytes(value).size() != 32) refuse();
        out_.bytes(value.bytes());
        break;
      case Kind::blob:
        out_.u32(static_cast<std::uint32_t>(bytes(value).size()));
        out_.bytes(value.bytes());
        break;
      case Kind::identifier: {
        const auto id = identifier(value);
        if (!error_ && !write_identifier(id, out_)) refuse(Rule::identifier_length);
        break;
      }
      case Kind::consumer: consumer(value, false); break;
      case Kind::offset_consumer: consumer(value, true); break;
      case Kind::strategy: strategy(value); break;
      case Kind::optional_partition: {
        const bool absent = !value.exists() || value.is_null();
        const auto partition = absent ? 0 : static_cast<std::uint32_t>(number(field, value, k32));
        write_optional_partition(absent ? std::nullopt : std::optional(partition), out_);
        break;
      }
      case Kind::partitioning: partitioning(value); break;
      case Kind::options: options(value); break;
      case Kind::map: fields(field.nested, value); break;
      case Kind::list: list(field, value); break;
      // Only replies have these.
      case Kind::f32:
      case Kind::sized_options:
      case Kind::list_u8:
      case Kind::list_u32:
      case Kind::list_rest:
      case Kind::list_counted:
      case Kind::custom: refuse(); break;
    }
  }

  Dialect dialect_;
  bytes::Buffer& buffer_;
  bytes::Writer out_;
  Path path_;
  Error error_;
};

}  // namespace

const Command* CommandSet::find(std::uint32_t code) const {
  for (const auto* set = this; set != nullptr; set = set->more)
    for (const auto& command : set->commands)
      if (command.code == code) return &command;
  return nullptr;
}

Error encode_fields(Fields fields, tape::Value args, Dialect dialect, bytes::Buffer& out) {
  Encoder encoder(dialect, out);
  encoder.fields(fields, args);
  return encoder.error();
}

Error encode_request(std::uint32_t command, tape::Value args, Dialect dialect, bytes::Buffer& body,
                     const CommandSet& set) {
  Error error;
  if (is_managed(command)) {
    const auto opaque = args.get("opaque");
    if (opaque.exists() && !opaque.is(tape::Tag::bytes)) {
      error.rule = Rule::argument;
      error.set_path("opaque");
    }
    bytes::Writer(body).bytes(opaque.bytes());
    return error;
  }
  const auto* found = set.find(command);
  if (found == nullptr) {
    error.rule = Rule::argument;
    error.set_path("command");
    return error;
  }
  const auto start = body.size();
  error = encode_fields(found->request, args, dialect, body);
  if (error) body.resize(start);
  return error;
}

}  // namespace tidemark::iggy
