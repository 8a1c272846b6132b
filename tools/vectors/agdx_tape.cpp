#include "agdx_tape.hpp"

#include <bit>
#include <cmath>

namespace vectors {

using nlohmann::json;
using tidemark::tape::Tag;
using tidemark::tape::U128;
using tidemark::tape::Value;

namespace {

std::string hex_of(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string decimal(U128 value) {
  std::string text;
  do {
    // Division by ten of two halves, in 32-bit steps.
    std::uint32_t words[4] = {
        static_cast<std::uint32_t>(value.high >> 32), static_cast<std::uint32_t>(value.high),
        static_cast<std::uint32_t>(value.low >> 32), static_cast<std::uint32_t>(value.low)};
    std::uint64_t rest = 0;
    for (auto& word : words) {
      const auto part = rest << 32 | word;
      word = static_cast<std::uint32_t>(part / 10);
      rest = part % 10;
    }
    value.high = static_cast<std::uint64_t>(words[0]) << 32 | words[1];
    value.low = static_cast<std::uint64_t>(words[2]) << 32 | words[3];
    text.insert(text.begin(), static_cast<char>('0' + rest));
  } while (!(value == U128{}));
  return text;
}

// Any whole number on a tape as decimal text; empty when it is none.
std::string whole(Value value) {
  if (value.is(Tag::f64) || value.is(Tag::f32)) return {};
  U128 number;
  std::int64_t negative = 0;
  if (value.to_u128(number)) return decimal(number);
  return value.to_i64(negative) ? std::to_string(negative) : std::string();
}

std::string mismatch(const json& wanted, const std::string& actual) {
  return "content: expected " + wanted.dump() + ", got " + actual;
}

std::string compare_map(const json& wanted, Value value, bool lenient) {
  if (!value.is(Tag::map)) return mismatch(wanted, "no map");
  for (const auto& [key, inner] : wanted.items()) {
    const auto entry = value.get(key);
    if (!entry.exists() && (lenient || inner.is_null())) continue;
    if (!entry.exists()) return "content: no " + key;
    if (auto problem = differs(inner, entry, lenient); !problem.empty()) return key + ": " + problem;
  }
  return {};
}

}  // namespace

std::string hex(const tidemark::bytes::Buffer& bytes) { return hex_of(bytes); }

std::string differs(const json& wanted, Value value, bool lenient) {
  if (wanted.is_null()) return value.is_null() ? std::string() : mismatch(wanted, "something");
  if (wanted.is_boolean())
    return value.is(wanted.get<bool>() ? Tag::yes : Tag::no) ? std::string()
                                                             : mismatch(wanted, "another value");
  if (wanted.is_number_unsigned() || wanted.is_number_integer()) {
    const auto text = whole(value);
    return text == wanted.dump() ? std::string() : mismatch(wanted, text);
  }
  if (wanted.is_string()) {
    if (value.is(Tag::text) &&
        (value.text() == wanted.get<std::string>() || (lenient && value.text() == "unknown")))
      return {};
    return mismatch(wanted, std::string(value.text()));
  }
  if (wanted.is_array()) {
    if (value.is(Tag::bytes)) {
      // Bytes that came as an array of integers.
      const auto bytes = wanted.get<std::vector<std::uint8_t>>();
      return hex_of(bytes) == hex_of(value.bytes()) ? std::string() : mismatch(wanted, hex_of(value.bytes()));
    }
    if (!value.is(Tag::array) || value.count() != wanted.size()) return mismatch(wanted, "another array");
    auto item = value.first();
    for (const auto& inner : wanted) {
      if (auto problem = differs(inner, item, lenient); !problem.empty()) return problem;
      item = item.next();
    }
    return {};
  }
  if (wanted.contains("$indefinite")) return differs(wanted.at("$indefinite"), value, lenient);
  if (wanted.contains("$bytes")) {
    const bool same = value.is(Tag::bytes) && hex_of(value.bytes()) == wanted.at("$bytes").get<std::string>();
    return same ? std::string() : mismatch(wanted, hex_of(value.bytes()));
  }
  for (const auto* key : {"$int", "$bignum"}) {
    if (!wanted.contains(key)) continue;
    const auto text = whole(value);
    return text == wanted.at(key).get<std::string>() ? std::string() : mismatch(wanted, text);
  }
  if (wanted.contains("$float")) {
    double number = 0;
    if (!value.to_f64(number)) return mismatch(wanted, "no float");
    const auto& given = wanted.at("$float");
    if (given == "NaN" && std::isnan(number)) return {};
    if (given == "Infinity" && number > 0 && std::isinf(number)) return {};
    if (given == "-Infinity" && number < 0 && std::isinf(number)) return {};
    return given.is_number() && given.get<double>() == number ? std::string()
                                                              : mismatch(wanted, std::to_string(number));
  }
  return compare_map(wanted, value, lenient);
}

std::string differs(const json& wanted, const json& actual) {
  if (!wanted.is_object())
    return wanted == actual ? std::string() : "expected " + wanted.dump() + ", got " + actual.dump();
  for (const auto& [key, inner] : wanted.items()) {
    if (!actual.is_object() || !actual.contains(key)) return "no " + key;
    if (auto problem = differs(inner, actual.at(key)); !problem.empty()) return key + ": " + problem;
  }
  return {};
}

json camel_case(Value value) {
  switch (value.tag()) {
    case Tag::null: return nullptr;
    case Tag::no: return false;
    case Tag::yes: return true;
    case Tag::text: return std::string(value.text());
    case Tag::bytes: return hex_of(value.bytes());
    case Tag::array: {
      auto list = json::array();
      auto item = value.first();
      for (std::uint32_t index = 0; index < value.count(); ++index, item = item.next())
        list.push_back(camel_case(item));
      return list;
    }
    case Tag::map: {
      auto object = json::object();
      auto key = value.first();
      for (std::uint32_t index = 0; index < value.count(); ++index) {
        std::string name;
        bool upper = false;
        for (const auto letter : key.text()) {
          if (letter != '_') name += upper ? static_cast<char>(letter - 'a' + 'A') : letter;
          upper = letter == '_';
        }
        object[name] = camel_case(key.next());
        key = key.next().next();
      }
      return object;
    }
    default: return json::parse(whole(value), nullptr, false);
  }
}

}  // namespace vectors
