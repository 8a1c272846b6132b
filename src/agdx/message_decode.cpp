#include <array>

#include "agdx/decoding.hpp"
#include "agdx/message.hpp"
#include "agdx/path.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {

namespace {

constexpr std::size_t max_fields = 32;

class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> input, bytes::Buffer& out) : in_(input), tape_(out) {}

  Error run(const Field& type) {
    value(type);
    if (in_.ok()) in_.expect_end();
    keep_error();
    return error_;
  }

 private:
  // The innermost place that sees a failure names it: outer ones find it already kept.
  void keep_error() {
    if (in_.ok() || error_) return;
    error_ = in_.error();
    error_.set_path(path_.text());
  }

  void value(const Field& field) {
    if (!field.array) return item(field);
    const auto mark = tape_.open(tape::Tag::array);
    std::uint32_t count = 0;
    auto items = in_.array();
    while (in_.next(items)) {
      const Path::Step step(path_, count);
      item(field);
      ++count;
    }
    tape_.close(mark, count);
    keep_error();
  }

  void item(const Field& field) {
    switch (field.kind) {
      case Kind::boolean: tape_.boolean(in_.boolean()); break;
      case Kind::u8: tape_.u32(in_.u8()); break;
      case Kind::u16: tape_.u32(in_.u16()); break;
      case Kind::u32: tape_.u32(in_.u32()); break;
      case Kind::u64: tape_.u64(in_.u64()); break;
      case Kind::i32: tape_.i32(in_.i32()); break;
      case Kind::i64: tape_.i64(in_.i64()); break;
      case Kind::u128: tape_.u128(in_.u128()); break;
      case Kind::f32: tape_.f32(in_.f32()); break;
      case Kind::f64: tape_.f64(in_.f64()); break;
      case Kind::text: tape_.text(in_.text()); break;
      case Kind::bytes: tape_.bytes(in_.bytes()); break;
      case Kind::id: tape_.bytes(in_.id()); break;
      case Kind::name: name(names_of(field)); break;
      case Kind::message: fields(message_of(field), {}); break;
      case Kind::one_of: one_of(union_of(field)); break;
      case Kind::any: any(); break;
      case Kind::custom: {
        Decoding inner{in_, path_};
        custom_of(field).read(inner, tape_);
        if (!error_) error_ = inner.error;
        break;
      }
    }
    keep_error();
  }

  void name(const Names& names) {
    const auto from = in_.position();
    const auto given = in_.text();
    if (!in_.ok()) return;
    for (std::uint8_t index = 0; index < names.count; ++index)
      if (given == names.names[index]) return tape_.text(given);
    if (names.open) return tape_.text("unknown");
    in_.fail(Rule::unknown_variant, from);
  }

  // A map may come in any order and the tape is in table order: first find where each field's value is, then
  // read them. With a `kind`, the map is one of a kind-tagged union's and that key is the union's own.
  void fields(const Message& message, std::string_view kind) {
    std::array<cbor::Reader::Mark, max_fields> places;
    std::uint32_t seen = 0;
    bool kind_seen = false;
    std::size_t unknown_at = SIZE_MAX;
    const auto from = in_.position();
    auto map = in_.map();
    while (in_.next(map)) {
      const auto key_at = in_.position();
      const auto key = in_.text();
      std::size_t index = 0;
      while (index < message.fields.size() && key != message.fields[index].key) ++index;
      if (!in_.ok()) break;
      if (index < message.fields.size()) {
        const Path::Step step(path_, message.fields[index].key);
        if ((seen >> index & 1) != 0) in_.fail(Rule::duplicate_key, key_at);
        seen |= 1U << index;
        places[index] = in_.mark();
        in_.skip();
        keep_error();
      } else {
        if (!kind.empty() && key == "kind") {
          if (kind_seen) in_.fail(Rule::duplicate_key, key_at);
          kind_seen = true;
        } else if (unknown_at == SIZE_MAX) {
          unknown_at = key_at;
        }
        in_.skip();
      }
    }
    if (message.unknown != Message::Unknown::skipped && unknown_at != SIZE_MAX) {
      const bool foreign = message.unknown == Message::Unknown::refused_outer && seen == 0;
      in_.fail(foreign ? Rule::wrong_type : Rule::unknown_field, foreign ? from : unknown_at);
    }
    if (!in_.ok()) return keep_error();
    const auto end = in_.mark();
    const auto mark = tape_.open(tape::Tag::map);
    std::uint32_t count = 0;
    if (!kind.empty()) {
      tape_.key("kind");
      tape_.text(kind);
      ++count;
    }
    for (std::size_t index = 0; index < message.fields.size() && in_.ok(); ++index) {
      const auto& field = message.fields[index];
      const Path::Step step(path_, field.key);
      if ((seen >> index & 1) != 0) {
        in_.back(places[index]);
        const bool may_be_null = field.presence == Presence::optional || field.presence == Presence::nullable;
        if (!may_be_null || !in_.take_null()) {
          tape_.key(field.key);
          value(field);
          ++count;
          continue;
        }
      } else if (field.presence == Presence::required) {
        in_.fail(Rule::missing_field, from);
        return keep_error();
      }
      if (absent(field)) ++count;
    }
    tape_.close(mark, count);
    in_.back(end);
  }

  // What an absent field reads as, with its key; false when it leaves nothing.
  bool absent(const Field& field) {
    if (field.presence == Presence::required || field.presence == Presence::optional) return false;
    tape_.key(field.key);
    if (field.presence == Presence::nullable)
      tape_.null();
    else
      fallback(field);
    return true;
  }

  void fallback(const Field& field) {
    if (field.array) {
      tape_.open(tape::Tag::array);
      return;
    }
    switch (field.kind) {
      case Kind::boolean: tape_.boolean(field.fallback != 0); break;
      case Kind::u8:
      case Kind::u16:
      case Kind::u32: tape_.u32(field.fallback); break;
      case Kind::u64: tape_.u64(field.fallback); break;
      case Kind::text: tape_.text(field.fallback_text); break;
      case Kind::name: tape_.text(names_of(field).names[field.fallback]); break;
      case Kind::message: {
        if (message_of(field).fallback != nullptr) return message_of(field).fallback(tape_);
        const auto mark = tape_.open(tape::Tag::map);
        std::uint32_t count = 0;
        for (const auto& inner : message_of(field).fields) count += absent(inner) ? 1 : 0;
        tape_.close(mark, count);
        break;
      }
      default: tape_.null(); break;
    }
  }

  static const Variant* find(const Union& type, std::string_view name) {
    for (const auto& variant : type.variants)
      if (name == variant.name) return &variant;
    return nullptr;
  }

  void one_of(const Union& type) {
    if (type.tagging == Union::Tagging::kind) return by_kind(type);
    const auto from = in_.position();
    const auto major = in_.peek();
    if (major == cbor::Major::text) {
      const auto name = in_.text();
      if (!in_.ok()) return;
      const auto* variant = find(type, name);
      if (variant == nullptr) return in_.fail(Rule::unknown_variant, from);
      if (variant->value != nullptr) return in_.fail(Rule::enum_shape, from);
      return tape_.text(name);
    }
    if (major == cbor::Major::array) return in_.fail(Rule::enum_shape, from);
    auto map = in_.map();
    if (!in_.ok()) return;
    if (!in_.next(map)) return in_.fail(Rule::enum_shape, from);
    const auto name_at = in_.position();
    const auto name = in_.text();
    if (!in_.ok()) return;
    const auto* variant = find(type, name);
    if (variant == nullptr) return in_.fail(Rule::unknown_variant, name_at);
    if (variant->value == nullptr) return in_.fail(Rule::enum_shape, name_at);
    const Path::Step step(path_, variant->name);
    const auto mark = tape_.open(tape::Tag::map);
    tape_.close(mark, 1);
    tape_.key(variant->name);
    if (variant->value->presence == Presence::nullable && in_.take_null())
      tape_.null();
    else
      value(*variant->value);
    if (in_.next(map)) in_.fail(Rule::enum_shape, from);
  }

  void by_kind(const Union& type) {
    const auto start = in_.mark();
    const auto from = in_.position();
    std::string_view kind;
    std::size_t kind_at = from;
    bool found = false;
    auto map = in_.map();
    while (!found && in_.next(map)) {
      found = in_.text() == "kind";
      kind_at = in_.position();
      if (found)
        kind = in_.text();
      else
        in_.skip();
    }
    if (!in_.ok()) return;
    if (!found) return in_.fail(Rule::missing_field, from);
    const auto* variant = find(type, kind);
    if (variant == nullptr && !type.open) return in_.fail(Rule::unknown_variant, kind_at);
    in_.back(start);
    if (variant == nullptr) {
      in_.skip();
      tape_.close(tape_.open(tape::Tag::map), 1);
      tape_.key("kind");
      return tape_.text("unknown");
    }
    static constexpr Message empty{};
    fields(variant->value == nullptr ? empty : message_of(*variant->value), variant->name);
  }

  // Recursion ends at the reader's depth limit.
  void any() {
    switch (in_.peek()) {
      case cbor::Major::whole: return tape_.u64(in_.u64());
      case cbor::Major::negative: return tape_.i64(in_.i64());
      case cbor::Major::text: return tape_.text(in_.text());
      case cbor::Major::bytes: return tape_.bytes(in_.bytes());
      case cbor::Major::array: {
        const auto mark = tape_.open(tape::Tag::array);
        std::uint32_t count = 0;
        for (auto items = in_.array(); in_.next(items); ++count) any();
        return tape_.close(mark, count);
      }
      case cbor::Major::map: {
        const auto mark = tape_.open(tape::Tag::map);
        std::uint32_t count = 0;
        for (auto items = in_.map(); in_.next(items); ++count) {
          tape_.key(in_.text());
          any();
        }
        return tape_.close(mark, count);
      }
      case cbor::Major::tag: return tape_.u128(in_.u128());
      case cbor::Major::simple: break;
    }
    if (in_.take_null()) return tape_.null();
    if ((in_.peek_byte() & 0xFE) == 0xF4) return tape_.boolean(in_.boolean());
    tape_.f64(in_.f64());
  }

  cbor::CompactReader in_;
  tape::Writer tape_;
  Path path_;
  Error error_;
};

}  // namespace

Error decode(const Field& type, std::span<const std::uint8_t> input, bytes::Buffer& out) {
  const auto size = out.size();
  const auto error = Decoder(input, out).run(type);
  if (error) out.resize(size);
  return error;
}

}  // namespace tidemark::agdx
