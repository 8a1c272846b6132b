#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tidemark {

enum class Rule : std::uint16_t {
  none = 0,
#define RULE(number, name) name = (number),
#include "bytes/rules.def"
#undef RULE
};

enum class RuleClass : std::uint8_t { none, codec, invalid, protocol, frame };

constexpr RuleClass rule_class(Rule rule) {
  const auto number = static_cast<std::uint16_t>(rule);
  if (number == 0) return RuleClass::none;
  if (number < 100) return RuleClass::codec;
  if (number < 300) return RuleClass::invalid;
  if (number < 400) return RuleClass::protocol;
  return RuleClass::frame;
}

std::string_view rule_name(Rule rule);

// The first thing wrong with an input: which rule, at which byte, in which field. A value, never thrown.
// The field is a dotted path ("backends.0.readiness"), cut to fit: errors must not allocate.
struct Error {
  Rule rule = Rule::none;
  std::uint32_t position = 0;
  char field[96] = {};

  explicit operator bool() const { return rule != Rule::none; }
  std::string_view path() const { return {field, ::strnlen(field, sizeof field)}; }
  void set_path(std::string_view path) {
    const auto length = path.size() < sizeof field ? path.size() : sizeof field - 1;
    std::memcpy(field, path.data(), length);
    field[length] = 0;
  }
};

}  // namespace tidemark
