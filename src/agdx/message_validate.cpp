#include "agdx/message.hpp"
#include "agdx/path.hpp"
#include "agdx/text_rules.hpp"

namespace tidemark::agdx {

bool refuse(Error& error, Rule rule, std::string_view field) {
  error.rule = rule;
  error.set_path(field);
  return false;
}

bool all_zero(std::span<const std::uint8_t> bytes) {
  for (const auto byte : bytes)
    if (byte != 0) return false;
  return true;
}

bool is_label(std::string_view text, std::size_t minimum, std::size_t maximum) {
  return text.size() >= minimum && text.size() <= maximum && !has_control(text);
}

namespace {

bool has_ascii_control(std::string_view text) {
  for (const auto letter : text)
    if (static_cast<std::uint8_t>(letter) < 0x20 || letter == 0x7F) return true;
  return false;
}

class Validator {
 public:
  Error run(const Field& type, tape::Value value) {
    check(type, value);
    return error_;
  }

 private:
  bool check(const Field& field, tape::Value value) {
    if (!value.exists() || value.is_null()) return true;
    if (!field.array) return one(field, value);
    if (field.limit == Limit::items && (value.count() < field.minimum || value.count() > field.maximum))
      return fail(field.rule);
    return each(value, [&](tape::Value item, std::uint32_t index) {
      const Path::Step step(path_, index);
      return one(field, item);
    });
  }

  bool one(const Field& field, tape::Value value) {
    if (!within(field, value)) return fail(field.rule);
    if (field.kind == Kind::message) return fields(message_of(field), value);
    if (field.kind == Kind::custom) {
      const auto refusal = custom_of(field).check(value);
      const Path::Step step(path_, refusal.field);
      return !refusal || fail(refusal.rule);
    }
    if (field.kind != Kind::one_of) return true;
    const auto& type = union_of(field);
    const bool by_kind = type.tagging == Union::Tagging::kind;
    if (!by_kind && !value.is(tape::Tag::map)) return ask(type.check, value);
    const auto name = by_kind ? value.get("kind").text() : value.first().text();
    for (const auto& variant : type.variants) {
      if (name != variant.name || variant.value == nullptr) continue;
      if (by_kind) {
        if (!fields(message_of(*variant.value), value)) return false;
      } else {
        const Path::Step step(path_, variant.name);
        if (!check(*variant.value, value.first().next())) return false;
      }
    }
    return ask(type.check, value);
  }

  bool fields(const Message& message, tape::Value value) {
    for (const auto& field : message.fields) {
      const Path::Step step(path_, field.key);
      if (!check(field, value.get(field.key))) return false;
    }
    return ask(message.check, value);
  }

  bool ask(Check question, tape::Value value) {
    if (question == nullptr) return true;
    Error inner;
    if (question(value, inner)) return true;
    error_ = inner;
    if (path_.text().empty()) return false;
    const auto parent = path_.text();
    char path[sizeof(Error::field)];
    auto length = parent.copy(path, sizeof path - 2);
    if (!inner.path().empty()) {
      path[length++] = '.';
      length += inner.path().copy(path + length, sizeof path - 1 - length);
    }
    error_.set_path({path, length});
    return false;
  }

  static bool within(const Field& field, tape::Value value) {
    const auto size = value.is(tape::Tag::text) ? value.text().size() : value.bytes().size();
    const bool sized = size >= field.minimum && size <= field.maximum;
    switch (field.limit) {
      case Limit::none:
      case Limit::items: return true;
      case Limit::equals: return number(value) == field.minimum;
      case Limit::nonzero: {
        if (value.is(tape::Tag::bytes)) return !all_zero(value.bytes());
        tape::U128 whole;
        return value.to_u128(whole) && !(whole == tape::U128{});
      }
      case Limit::range: {
        // Signed fields with a lower bound of 0 or 1 fail to read as unsigned below it.
        std::uint64_t whole = 0;
        return value.to_u64(whole) && whole >= field.minimum && whole <= field.maximum;
      }
      case Limit::length: return sized;
      case Limit::name: return is_name(value.text());
      case Limit::label: return sized && !has_control(value.text());
      case Limit::ascii_label: return sized && !has_ascii_control(value.text());
    }
    return true;
  }

  bool fail(Rule rule) { return refuse(error_, rule, path_.text()); }

  Path path_;
  Error error_;
};

}  // namespace

Error validate(const Field& type, tape::Value value) { return Validator().run(type, value); }

}  // namespace tidemark::agdx
