#include "agdx/identity.hpp"
#include "agdx/message.hpp"
#include "agdx/path.hpp"
#include "cbor/reader.hpp"
#include "cbor/writer.hpp"

namespace tidemark::agdx {

namespace {

bool absent(tape::Value value) { return !value.exists() || value.is_null(); }

class Encoder {
 public:
  Encoder(bytes::Buffer& out, Encode mode) : out_(out), mode_(mode) {}

  Error run(const Field& type, tape::Value value) {
    write(type, value);
    return error_;
  }

 private:
  void fail(Rule rule) {
    if (error_) return;
    error_.rule = rule;
    error_.set_path(path_.text());
  }

  void write(const Field& field, tape::Value value) {
    if (!field.array) return item(field, value);
    if (!value.is(tape::Tag::array)) return fail(Rule::wrong_type);
    out_.array(value.count());
    each(value, [&](tape::Value entry, std::uint32_t index) {
      const Path::Step step(path_, index);
      item(field, entry);
      return !error_;
    });
  }

  void whole(tape::Value value, std::uint64_t maximum) {
    std::uint64_t result = 0;
    if (!value.to_u64(result) || result > maximum) return not_number(value);
    out_.u64(result);
  }
  void signed_whole(tape::Value value, std::int64_t minimum, std::int64_t maximum) {
    std::int64_t result = 0;
    if (!value.to_i64(result) || result < minimum || result > maximum) return not_number(value);
    out_.i64(result);
  }
  void not_number(tape::Value value) {
    const auto tag = static_cast<std::uint32_t>(value.tag());
    const bool is_number = tag >= static_cast<std::uint32_t>(tape::Tag::u32) &&
                           tag <= static_cast<std::uint32_t>(tape::Tag::u128);
    fail(is_number ? Rule::integer_range : Rule::wrong_type);
  }

  void item(const Field& field, tape::Value value) {
    switch (field.kind) {
      case Kind::boolean:
        if (!value.is(tape::Tag::yes) && !value.is(tape::Tag::no)) return fail(Rule::wrong_type);
        return out_.boolean(value.boolean());
      case Kind::u8: return whole(value, UINT8_MAX);
      case Kind::u16: return whole(value, UINT16_MAX);
      case Kind::u32: return whole(value, UINT32_MAX);
      case Kind::u64: return whole(value, UINT64_MAX);
      case Kind::i32: return signed_whole(value, INT32_MIN, INT32_MAX);
      case Kind::i64: return signed_whole(value, INT64_MIN, INT64_MAX);
      case Kind::u128: {
        tape::U128 result;
        if (!value.to_u128(result)) return not_number(value);
        return out_.u128(result);
      }
      case Kind::f32:
      case Kind::f64: {
        double result = 0;
        if (!value.to_f64(result)) return fail(Rule::wrong_type);
        return field.kind == Kind::f64 ? out_.f64(result) : out_.f32(static_cast<float>(result));
      }
      case Kind::text:
        if (!value.is(tape::Tag::text)) return fail(Rule::wrong_type);
        if (!cbor::valid_utf8(bytes::as_bytes(value.text()))) return fail(Rule::invalid_utf8);
        return out_.text(value.text());
      case Kind::bytes:
        if (!value.is(tape::Tag::bytes)) return fail(Rule::wrong_type);
        return out_.bytes(value.bytes());
      case Kind::id: return identity(value);
      case Kind::name: return name(names_of(field), value);
      case Kind::message: return fields(message_of(field), value, {});
      case Kind::one_of: return one_of(union_of(field), value);
      case Kind::any: return any(value, 0);
      case Kind::custom: {
        const auto refusal = custom_of(field).check(value);
        if (!refusal) return custom_of(field).write(value, out_);
        const Path::Step step(path_, refusal.field);
        return fail(refusal.rule);
      }
    }
  }

  void identity(tape::Value value) {
    Identity parsed;
    if (value.is(tape::Tag::text)) {
      if (!parse_identity(value.text(), parsed)) return fail(Rule::id_length);
      return out_.bytes(parsed);
    }
    if (!value.is(tape::Tag::bytes)) return fail(Rule::wrong_type);
    if (value.bytes().size() != parsed.size()) return fail(Rule::id_length);
    out_.bytes(value.bytes());
  }

  void name(const Names& names, tape::Value value) {
    if (!value.is(tape::Tag::text)) return fail(Rule::wrong_type);
    if (names.open && mode_ == Encode::outgoing && value.text() == "unknown")
      return fail(Rule::unknown_variant);
    for (std::uint8_t index = 0; index < names.count; ++index)
      if (value.text() == names.names[index]) return out_.text(value.text());
    fail(Rule::unknown_variant);
  }

  static bool is_default(const Field& field, tape::Value value) {
    if (field.array) return value.is(tape::Tag::array) && value.count() == 0;
    std::uint64_t whole = 0;
    switch (field.kind) {
      case Kind::boolean: return value.boolean() == (field.fallback != 0);
      case Kind::text: return value.is(tape::Tag::text) && value.text() == field.fallback_text;
      case Kind::name: return value.text() == names_of(field).names[field.fallback];
      default: return value.to_u64(whole) && whole == field.fallback;
    }
  }

  void fallback(const Field& field) {
    if (field.array) return out_.array(0);
    switch (field.kind) {
      case Kind::boolean: return out_.boolean(field.fallback != 0);
      case Kind::text: return out_.text(field.fallback_text);
      case Kind::name: return out_.text(names_of(field).names[field.fallback]);
      case Kind::message: {
        bytes::Buffer made;
        tape::Writer tape(made);
        if (message_of(field).fallback != nullptr) message_of(field).fallback(tape);
        return fields(message_of(field), tape::Value{made}, {});
      }
      default: return out_.u64(field.fallback);
    }
  }

  void fields(const Message& message, tape::Value value, std::string_view kind) {
    if (value.exists() && !value.is(tape::Tag::map)) return fail(Rule::wrong_type);
    if (!known_keys(message, value, !kind.empty())) return;
    std::uint32_t written = 0;
    std::uint64_t count = kind.empty() ? 0 : 1;
    for (std::size_t index = 0; index < message.fields.size(); ++index) {
      const auto& field = message.fields[index];
      const auto entry = value.get(field.key);
      const bool none = absent(entry);
      bool write_it = true;
      if (field.presence == Presence::optional) write_it = !none;
      if (field.presence == Presence::skip_default) write_it = !none && !is_default(field, entry);
      const bool given = !none || field.limit == Limit::equals || (field.kind == Kind::any && entry.exists());
      if (field.presence == Presence::required && !given) {
        const Path::Step step(path_, field.key);
        return fail(Rule::missing_field);
      }
      if (!write_it) continue;
      written |= 1U << index;
      ++count;
    }
    out_.map(count);
    if (!kind.empty()) {
      out_.text("kind");
      out_.text(kind);
    }
    for (std::size_t index = 0; index < message.fields.size() && !error_; ++index) {
      if ((written >> index & 1) == 0) continue;
      const auto& field = message.fields[index];
      const auto entry = value.get(field.key);
      const Path::Step step(path_, field.key);
      out_.text(field.key);
      if (absent(entry) && field.limit == Limit::equals)
        out_.u64(field.minimum);  // a version that only has one value need not be said
      else if (!absent(entry) || (field.kind == Kind::any && field.presence == Presence::required))
        write(field, entry);
      else if (field.presence == Presence::nullable)
        out_.null();
      else
        fallback(field);
    }
  }

  // A mistyped option must not be dropped in silence.
  bool known_keys(const Message& message, tape::Value value, bool tagged) {
    auto key = value.first();
    for (std::uint32_t index = 0; index < value.count() && key.exists(); ++index) {
      const auto entry = key.next();
      bool known = tagged && key.text() == "kind";
      for (const auto& field : message.fields) known = known || key.text() == field.key;
      if (!known && !absent(entry)) {
        fail(Rule::argument);
        char path[sizeof(Error::field)];
        const auto parent = path_.text();
        auto length = parent.copy(path, sizeof path - 2);
        if (length > 0) path[length++] = '.';
        length += key.text().copy(path + length, sizeof path - 1 - length);
        error_.set_path({path, length});
        return false;
      }
      key = entry.next();
    }
    return true;
  }

  static const Variant* find(const Union& type, std::string_view name) {
    for (const auto& variant : type.variants)
      if (name == variant.name) return &variant;
    return nullptr;
  }

  void one_of(const Union& type, tape::Value value) {
    if (type.tagging == Union::Tagging::kind) return by_kind(type, value);
    if (value.is(tape::Tag::text)) {
      const auto* variant = find(type, value.text());
      if (variant == nullptr) return fail(Rule::unknown_variant);
      if (variant->value != nullptr) return fail(Rule::enum_shape);
      return out_.text(value.text());
    }
    if (!value.is(tape::Tag::map)) return fail(Rule::wrong_type);
    if (value.count() != 1) return fail(Rule::enum_shape);
    const auto key = value.first();
    const auto* variant = find(type, key.text());
    if (variant == nullptr) return fail(Rule::unknown_variant);
    if (variant->value == nullptr) return fail(Rule::enum_shape);
    const Path::Step step(path_, variant->name);
    out_.map(1);
    out_.text(key.text());
    const auto inner = key.next();
    if (variant->value->presence == Presence::nullable && absent(inner))
      out_.null();
    else
      write(*variant->value, inner);
  }

  void by_kind(const Union& type, tape::Value value) {
    if (!value.is(tape::Tag::map)) return fail(Rule::wrong_type);
    const auto kind = value.get("kind");
    if (absent(kind)) return fail(Rule::missing_field);
    const auto* variant = find(type, kind.text());
    static constexpr Message empty{};
    if (variant != nullptr)
      fields(variant->value == nullptr ? empty : message_of(*variant->value), value, variant->name);
    else if (type.open && mode_ == Encode::again && kind.text() == "unknown")
      fields(empty, value, "unknown");
    else
      fail(Rule::unknown_variant);
  }

  void any(tape::Value value, std::uint32_t depth) {
    if (depth >= cbor::max_depth) return fail(Rule::cbor_depth);
    tape::U128 whole;
    std::int64_t negative = 0;
    double real = 0;
    switch (value.tag()) {
      case tape::Tag::null: return out_.null();
      case tape::Tag::no:
      case tape::Tag::yes: return out_.boolean(value.boolean());
      case tape::Tag::f32:
      case tape::Tag::f64: return value.to_f64(real) ? out_.f64(real) : fail(Rule::wrong_type);
      case tape::Tag::text: return out_.text(value.text());
      case tape::Tag::bytes: return out_.bytes(value.bytes());
      case tape::Tag::array:
        out_.array(value.count());
        each(value, [&](tape::Value entry, std::uint32_t) {
          any(entry, depth + 1);
          return !error_;
        });
        return;
      case tape::Tag::map: {
        out_.map(value.count());
        auto key = value.first();
        for (std::uint32_t index = 0; index < value.count() && key.exists() && !error_; ++index) {
          out_.text(key.text());
          any(key.next(), depth + 1);
          key = key.next().next();
        }
        return;
      }
      default:
        if (value.to_u128(whole)) return out_.u128(whole);
        if (value.to_i64(negative)) return out_.i64(negative);
        fail(Rule::integer_range);
    }
  }

  cbor::Writer out_;
  Encode mode_;
  Path path_;
  Error error_;
};

}  // namespace

Error encode(const Field& type, tape::Value value, bytes::Buffer& out, Encode mode) {
  const auto size = out.size();
  const auto error = Encoder(out, mode).run(type, value);
  if (error) out.resize(size);
  return error;
}

Error encode_valid(const Field& type, tape::Value value, bytes::Buffer& out) {
  const auto size = out.size();
  auto error = encode(type, value, out);
  if (error) return error;
  // Reading it back fills the defaults in and gives every number its own type: the rules see one form.
  bytes::Buffer read_back;
  error = decode(type, std::span<const std::uint8_t>{out}.subspan(size), read_back);
  if (!error) error = validate(type, tape::Value{read_back});
  if (error) out.resize(size);
  return error;
}

}  // namespace tidemark::agdx
