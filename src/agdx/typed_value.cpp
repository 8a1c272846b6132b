#include "agdx/typed_value.hpp"

#include <algorithm>
#include <cmath>

namespace tidemark::agdx {
namespace {

constexpr std::int64_t day_micros = 86'400'000'000;
constexpr const char* value_keys[] = {"kind", "value"};
constexpr const char* decimal_keys[] = {"unscaled", "precision", "scale"};
constexpr const char* struct_keys[] = {"field_id", "value"};
constexpr const char* map_keys[] = {"key", "value"};

class ValueReader {
 public:
  ValueReader(Decoding& in, tape::Writer& out) : in_(in), reader_(in.reader), out_(out) {}

  void value(std::uint32_t depth) {
    if (depth > max_logical_depth + 1) {
      // Already refused by rule one level above; here it only has to be well formed.
      reader_.skip();
      out_.null();
      return in_.note();
    }
    const auto start = reader_.position();
    const auto mark = out_.open(tape::Tag::map);
    std::optional<TypeKind> kind;
    bool done = false;
    Keys keys{value_keys};
    auto map = reader_.map();
    while (reader_.next(map)) {
      const auto key = keys.next(in_);
      if (key == 0) {
        kind = this->kind();
      } else if (key == 1 && kind) {
        payload(*kind, depth);
        done = true;
      } else {
        reader_.skip();
      }
    }
    in_.note();
    if (!in_.ok()) return;
    if (!kind) return in_.missing("kind", start);
    if (!done && keys.has(1)) {
      const auto end = reader_.mark();
      reader_.back(keys.at[1]);
      payload(*kind, depth);
      reader_.back(end);
    } else if (!done && *kind != TypeKind::null) {
      return in_.missing("value", start);
    }
    out_.close(mark, *kind == TypeKind::null ? 1 : 2);
  }

 private:
  std::optional<TypeKind> kind() {
    const Path::Step step(in_.path, "kind");
    const auto at = reader_.position();
    const auto found = kind_of(reader_.text());
    if (!found) reader_.fail(Rule::unknown_variant, at);
    in_.note();
    if (found) out_.key("kind"), out_.text(kind_name(*found));
    return found;
  }

  void payload(TypeKind kind, std::uint32_t depth) {
    const Path::Step step(in_.path, "value");
    if (kind == TypeKind::null) {
      const auto at = reader_.position();
      if (!reader_.take_null()) {
        reader_.skip();
        reader_.fail(Rule::wrong_type, at);
      }
      return in_.note();
    }
    out_.key("value");
    switch (kind) {
      case TypeKind::boolean: out_.boolean(reader_.boolean()); break;
      case TypeKind::int_:
      case TypeKind::date: out_.i32(reader_.i32()); break;
      case TypeKind::long_:
      case TypeKind::time_micros:
      case TypeKind::timestamp_micros:
      case TypeKind::timestamp_tz_micros: out_.i64(reader_.i64()); break;
      case TypeKind::float_: out_.f32(reader_.f32()); break;
      case TypeKind::double_: out_.f64(reader_.f64()); break;
      case TypeKind::decimal: decimal(); break;
      case TypeKind::string: out_.text(reader_.text()); break;
      case TypeKind::uuid:
      case TypeKind::fixed:
      case TypeKind::binary: out_.bytes(reader_.bytes()); break;
      case TypeKind::list: {
        std::uint32_t count = 0;
        const auto mark = out_.open(tape::Tag::array);
        auto items = reader_.array();
        while (reader_.next(items)) {
          const Path::Step item(in_.path, count++);
          value(depth + 1);
        }
        out_.close(mark, count);
        break;
      }
      case TypeKind::struct_: entries(struct_keys, depth); break;
      case TypeKind::map: entries(map_keys, depth); break;
      case TypeKind::null: break;
    }
    in_.note();
  }

  void decimal() {
    const auto start = reader_.position();
    std::span<const std::uint8_t> unscaled;
    std::uint8_t precision = 0;
    std::uint8_t scale = 0;
    Keys keys{decimal_keys};
    auto map = reader_.map();
    while (reader_.next(map)) {
      const auto key = keys.next(in_);
      if (key == std::size(decimal_keys)) {
        reader_.skip();
        continue;
      }
      const Path::Step step(in_.path, decimal_keys[key]);
      if (key == 0)
        unscaled = reader_.bytes();
      else
        (key == 1 ? precision : scale) = reader_.u8();
      in_.note();
    }
    in_.note();
    for (std::size_t key = 0; key < 3 && in_.ok(); ++key)
      if (!keys.has(key)) in_.missing(decimal_keys[key], start);
    const auto mark = out_.open(tape::Tag::map);
    out_.key("unscaled"), out_.bytes(unscaled);
    out_.key("precision"), out_.u32(precision);
    out_.key("scale"), out_.u32(scale);
    out_.close(mark, 3);
  }

  // The members of a struct or the entries of a map: two keys, the last of which is `value`.
  void entries(const char* const (&names)[2], std::uint32_t depth) {
    std::uint32_t count = 0;
    const auto mark = out_.open(tape::Tag::array);
    auto items = reader_.array();
    while (reader_.next(items)) {
      const Path::Step item(in_.path, count++);
      const auto start = reader_.position();
      const auto entry = out_.open(tape::Tag::map);
      Keys keys{names};
      auto map = reader_.map();
      while (reader_.next(map)) {
        const auto key = keys.next(in_);
        if (key == std::size(names)) {
          reader_.skip();
          continue;
        }
        const Path::Step step(in_.path, names[key]);
        out_.key(names[key]);
        if (key == 0 && names[0] == struct_keys[0])
          out_.u32(reader_.u32());
        else
          value(depth + 1);
        in_.note();
      }
      in_.note();
      for (std::size_t key = 0; key < 2 && in_.ok(); ++key)
        if (!keys.has(key)) in_.missing(names[key], start);
      out_.close(entry, 2);
    }
    out_.close(mark, count);
  }

  Decoding& in_;
  cbor::Reader& reader_;
  tape::Writer& out_;
};

using Magnitude = unsigned __int128;

Magnitude magnitude(std::span<const std::uint8_t> unscaled) {
  const bool negative = (unscaled[0] & 0x80) != 0;
  auto value = negative ? ~Magnitude{0} : Magnitude{0};
  for (const auto byte : unscaled) value = value << 8 | byte;
  return negative ? Magnitude{0} - value : value;
}

bool within_digits(Magnitude value, std::uint32_t digits) {
  Magnitude limit = 1;
  for (std::uint32_t digit = 0; digit < digits; ++digit) limit *= 10;
  return value < limit;
}

class ValueRules {
 public:
  Error run(tape::Value value, const FieldTree* tree, std::uint32_t field) {
    check(value, 1, tree, field);
    return error_;
  }

 private:
  bool refuse(Rule rule) {
    if (error_) return false;
    error_.rule = rule;
    error_.set_path(path_.text());
    return false;
  }

  // With a tree, also against that field.
  bool check(tape::Value value, std::uint32_t depth, const FieldTree* tree, std::uint32_t field) {
    if (depth > max_logical_depth) return refuse(Rule::depth_exceeded);
    const auto view = view_value(value);
    if (!view.kind) return refuse(Rule::argument);
    const auto* type = tree != nullptr ? &tree->nodes[field] : nullptr;
    if (*view.kind == TypeKind::null) {
      if (view.value.exists() && !view.value.is_null()) return refuse(Rule::argument);
      return type == nullptr || !type->required || refuse(Rule::required_null);
    }
    if (!view.value.exists()) return refuse(Rule::argument);
    // Members are checked on their own first, as part of the value that they are in.
    if (!alone(*view.kind, view.value, depth)) return false;
    if (type == nullptr) return true;
    if (*view.kind != type->kind) return refuse(Rule::type_mismatch);
    return members(view.value, depth, *tree, field);
  }

  bool alone(TypeKind kind, tape::Value value, std::uint32_t depth) {
    std::int64_t whole = 0;
    double number = 0;
    switch (kind) {
      case TypeKind::boolean:
        return value.is(tape::Tag::yes) || value.is(tape::Tag::no) || refuse(Rule::argument);
      case TypeKind::int_:
      case TypeKind::date:
        return (value.to_i64(whole) && whole >= INT32_MIN && whole <= INT32_MAX) || refuse(Rule::argument);
      case TypeKind::long_:
      case TypeKind::timestamp_micros:
      case TypeKind::timestamp_tz_micros: return value.to_i64(whole) || refuse(Rule::argument);
      case TypeKind::time_micros:
        if (!value.to_i64(whole)) return refuse(Rule::argument);
        return (whole >= 0 && whole < day_micros) || refuse(Rule::time_out_of_range);
      case TypeKind::float_:
      case TypeKind::double_:
        if (!value.to_f64(number)) return refuse(Rule::argument);
        if (kind == TypeKind::float_) number = static_cast<double>(static_cast<float>(number));
        if (!std::isfinite(number)) return refuse(Rule::float_not_finite);
        return number != 0 || !std::signbit(number) || refuse(Rule::float_negative_zero);
      case TypeKind::decimal: {
        const auto unscaled = value.get("unscaled");
        std::uint64_t precision = 0;
        std::uint64_t scale = 0;
        if (!unscaled.is(tape::Tag::bytes) || !value.get("precision").to_u64(precision) ||
            !value.get("scale").to_u64(scale) || precision > UINT8_MAX || scale > UINT8_MAX)
          return refuse(Rule::argument);
        const auto rule = check_decimal(unscaled.bytes(), static_cast<std::uint32_t>(precision),
                                        static_cast<std::uint32_t>(scale));
        return rule == Rule::none || refuse(rule);
      }
      case TypeKind::string:
        if (!value.is(tape::Tag::text)) return refuse(Rule::argument);
        return value.text().size() <= max_value_bytes || refuse(Rule::value_too_large);
      case TypeKind::uuid:
        if (!value.is(tape::Tag::bytes)) return refuse(Rule::argument);
        return value.bytes().size() == 16 || refuse(Rule::uuid_length);
      case TypeKind::fixed:
      case TypeKind::binary:
        if (!value.is(tape::Tag::bytes)) return refuse(Rule::argument);
        return value.bytes().size() <= (kind == TypeKind::fixed ? max_fixed_length : max_value_bytes) ||
               refuse(Rule::value_too_large);
      case TypeKind::struct_:
      case TypeKind::list:
      case TypeKind::map: return entries(kind, value, depth);
      case TypeKind::null: break;
    }
    return true;
  }

  bool entries(TypeKind kind, tape::Value value, std::uint32_t depth) {
    if (!value.is(tape::Tag::array)) return refuse(Rule::argument);
    if (value.count() > max_entries) return refuse(Rule::collection_too_large);
    std::uint64_t last_id = 0;
    bytes::Buffer last_key;
    bytes::Buffer key;
    auto item = value.first();
    for (std::uint32_t index = 0; index < value.count(); ++index, item = item.next()) {
      const Path::Step step(path_, index);
      if (kind == TypeKind::list) {
        if (!check(item, depth + 1, nullptr, 0)) return false;
        continue;
      }
      if (kind == TypeKind::struct_) {
        std::uint64_t id = 0;
        if (!item.get("field_id").to_u64(id) || id > UINT32_MAX) return refuse(Rule::argument);
        if (id <= last_id) return refuse(Rule::struct_field_order);
        last_id = id;
      } else {
        const Path::Step part(path_, "key");
        const auto view = view_value(item.get("key"));
        if (!view.kind) return refuse(Rule::argument);
        if (!can_be_map_key(*view.kind)) return refuse(Rule::map_key_kind);
        if (!check(item.get("key"), depth + 1, nullptr, 0)) return false;
        map_key_bytes(view, key);
        if (index > 0 &&
            !std::lexicographical_compare(last_key.begin(), last_key.end(), key.begin(), key.end()))
          return refuse(Rule::map_key_order);
        key.swap(last_key);
      }
      const Path::Step part(path_, "value");
      if (!check(item.get("value"), depth + 1, nullptr, 0)) return false;
    }
    return true;
  }

  bool members(tape::Value value, std::uint32_t depth, const FieldTree& tree, std::uint32_t field) {
    const auto& type = tree.nodes[field];
    std::uint64_t number = 0;
    switch (type.kind) {
      case TypeKind::decimal:
        return (value.get("precision").to_u64(number) && number == type.precision &&
                value.get("scale").to_u64(number) && number == type.scale) ||
               refuse(Rule::decimal_type);
      case TypeKind::fixed: return value.bytes().size() == type.length || refuse(Rule::fixed_value_length);
      case TypeKind::struct_: {
        if (value.count() != type.children) return refuse(Rule::struct_field_count);
        auto item = value.first();
        auto child = field + 1;
        for (std::uint32_t index = 0; index < type.children;
             ++index, item = item.next(), child = tree.nodes[child].end) {
          const Path::Step step(path_, index);
          item.get("field_id").to_u64(number);
          if (number != tree.nodes[child].id) return refuse(Rule::struct_field_id);
          if (!check(item.get("value"), depth + 1, &tree, child)) return false;
        }
        return true;
      }
      case TypeKind::list:
      case TypeKind::map: {
        auto item = value.first();
        for (std::uint32_t index = 0; index < value.count(); ++index, item = item.next()) {
          const Path::Step step(path_, index);
          if (type.kind == TypeKind::list) {
            if (!check(item, depth + 1, &tree, field + 1)) return false;
            continue;
          }
          if (!check(item.get("key"), depth + 1, &tree, field + 1)) return false;
          if (!check(item.get("value"), depth + 1, &tree, tree.nodes[field + 1].end)) return false;
        }
        return true;
      }
      default: return true;
    }
  }

  Path path_;
  Error error_;
};

}  // namespace

void read_value(Decoding& in, tape::Writer& out) { ValueReader(in, out).value(1); }

Error check_value(tape::Value value) { return ValueRules().run(value, nullptr, 0); }

Error check_value(tape::Value value, const FieldTree& tree, std::uint32_t field) {
  return ValueRules().run(value, &tree, field);
}

TypedView view_value(tape::Value value) { return {kind_of(value.get("kind").text()), value.get("value")}; }

Rule check_decimal(std::span<const std::uint8_t> unscaled, std::uint32_t precision, std::uint32_t scale) {
  if (unscaled.empty() || unscaled.size() > 16) return Rule::decimal_length;
  if (unscaled.size() > 1 &&
      ((unscaled[0] == 0x00 && unscaled[1] < 0x80) || (unscaled[0] == 0xFF && unscaled[1] >= 0x80)))
    return Rule::decimal_not_minimal;
  if (precision < 1 || precision > max_decimal_precision || scale > precision) return Rule::decimal_precision;
  return within_digits(magnitude(unscaled), precision) ? Rule::none : Rule::decimal_digits;
}

void map_key_bytes(const TypedView& key, bytes::Buffer& out) {
  out.clear();
  const auto big_endian = [&](std::uint64_t value, int width) {
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
      out.push_back(static_cast<std::uint8_t>(value >> shift));
  };
  const auto tagged = [&](std::uint8_t tag, std::span<const std::uint8_t> rest) {
    out.push_back(tag);
    out.insert(out.end(), rest.begin(), rest.end());
  };
  std::int64_t whole = 0;
  std::uint64_t number = 0;
  if (!key.kind) return;
  switch (*key.kind) {
    case TypeKind::boolean:
      out.push_back(0x00);
      out.push_back(key.value.boolean() ? 1 : 0);
      break;
    case TypeKind::int_:
    case TypeKind::date:
      key.value.to_i64(whole);
      out.push_back(*key.kind == TypeKind::int_ ? 0x01 : 0x04);
      big_endian(static_cast<std::uint64_t>(whole), 4);
      break;
    case TypeKind::long_:
    case TypeKind::time_micros:
    case TypeKind::timestamp_micros:
    case TypeKind::timestamp_tz_micros:
      key.value.to_i64(whole);
      out.push_back(*key.kind == TypeKind::long_              ? 0x02
                    : *key.kind == TypeKind::time_micros      ? 0x05
                    : *key.kind == TypeKind::timestamp_micros ? 0x06
                                                              : 0x07);
      big_endian(static_cast<std::uint64_t>(whole), 8);
      break;
    case TypeKind::decimal:
      out.push_back(0x03);
      key.value.get("precision").to_u64(number);
      out.push_back(static_cast<std::uint8_t>(number));
      key.value.get("scale").to_u64(number);
      out.push_back(static_cast<std::uint8_t>(number));
      for (const auto byte : key.value.get("unscaled").bytes()) out.push_back(byte);
      break;
    case TypeKind::string: tagged(0x08, bytes::as_bytes(key.value.text())); break;
    case TypeKind::uuid: tagged(0x09, key.value.bytes()); break;
    case TypeKind::fixed: tagged(0x0A, key.value.bytes()); break;
    case TypeKind::binary: tagged(0x0B, key.value.bytes()); break;
    default: break;
  }
}

void write_value(tape::Value value, cbor::Writer& out) {
  const auto view = view_value(value);
  const auto kind = view.kind.value_or(TypeKind::null);
  out.map(kind == TypeKind::null ? 1 : 2);
  out.text("kind"), out.text(kind_name(kind));
  if (kind == TypeKind::null) return;
  out.text("value");
  std::int64_t whole = 0;
  std::uint64_t number = 0;
  double real = 0;
  switch (kind) {
    case TypeKind::boolean: out.boolean(view.value.boolean()); break;
    case TypeKind::float_:
      view.value.to_f64(real);
      out.f32(static_cast<float>(real));
      break;
    case TypeKind::double_:
      view.value.to_f64(real);
      out.f64(real);
      break;
    case TypeKind::decimal:
      out.map(3);
      out.text("unscaled"), out.bytes(view.value.get("unscaled").bytes());
      view.value.get("precision").to_u64(number);
      out.text("precision"), out.u64(number);
      view.value.get("scale").to_u64(number);
      out.text("scale"), out.u64(number);
      break;
    case TypeKind::string: out.text(view.value.text()); break;
    case TypeKind::uuid:
    case TypeKind::fixed:
    case TypeKind::binary: out.bytes(view.value.bytes()); break;
    case TypeKind::struct_:
    case TypeKind::list:
    case TypeKind::map: {
      out.array(view.value.count());
      auto item = view.value.first();
      for (std::uint32_t index = 0; index < view.value.count(); ++index, item = item.next()) {
        if (kind == TypeKind::list) {
          write_value(item, out);
          continue;
        }
        out.map(2);
        if (kind == TypeKind::struct_) {
          item.get("field_id").to_u64(number);
          out.text("field_id"), out.u64(number);
        } else {
          out.text("key"), write_value(item.get("key"), out);
        }
        out.text("value"), write_value(item.get("value"), out);
      }
      break;
    }
    default: view.value.to_i64(whole); out.i64(whole);
  }
}

}  // namespace tidemark::agdx
