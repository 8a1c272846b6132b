#include "tape_compare.hpp"

namespace vectors {

using tidemark::tape::Tag;
using tidemark::tape::U128;
using tidemark::tape::Value;

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const auto byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

bool from_hex(const std::string& hex, tidemark::bytes::Buffer& out) {
  if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return false;
  for (std::size_t at = 0; at < hex.size(); at += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return true;
}

std::string to_text(U128 value) {
  // Long division by ten over 32-bit limbs.
  std::uint32_t limbs[4] = {
      static_cast<std::uint32_t>(value.high >> 32), static_cast<std::uint32_t>(value.high),
      static_cast<std::uint32_t>(value.low >> 32), static_cast<std::uint32_t>(value.low)};
  std::string text;
  do {
    std::uint64_t rest = 0;
    for (auto& limb : limbs) {
      const auto part = rest << 32 | limb;
      limb = static_cast<std::uint32_t>(part / 10);
      rest = part % 10;
    }
    text.insert(text.begin(), static_cast<char>('0' + rest));
  } while ((limbs[0] | limbs[1] | limbs[2] | limbs[3]) != 0);
  return text;
}

namespace {

std::string shown(Value value) {
  U128 whole;
  if (value.to_u128(whole)) return to_text(whole);
  switch (value.tag()) {
    case Tag::null: return value.exists() ? "null" : "nothing";
    case Tag::no: return "false";
    case Tag::yes: return "true";
    case Tag::text: return '"' + std::string(value.text()) + '"';
    case Tag::bytes: return to_hex(value.bytes());
    case Tag::array: return "array of " + std::to_string(value.count());
    case Tag::map: return "map of " + std::to_string(value.count());
    default: return "a number";
  }
}

bool same_text(const std::string& expected, Value actual) {
  if (actual.is(Tag::text)) return actual.text() == expected;
  if (actual.is(Tag::bytes)) return to_hex(actual.bytes()) == expected;
  U128 whole;
  if (actual.to_u128(whole)) {
    if (!expected.starts_with("0x")) return to_text(whole) == expected;
    tidemark::bytes::Buffer bytes;
    tidemark::tape::Writer writer(bytes);
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(whole.high),
                  static_cast<unsigned long long>(whole.low));
    return expected.size() == 34 && expected.substr(2) == digits;
  }
  std::int64_t negative = 0;
  return actual.to_i64(negative) && std::to_string(negative) == expected;
}

bool same_number(const nlohmann::json& expected, Value actual) {
  std::int64_t whole = 0;
  double real = 0;
  if (expected.is_number_integer() && actual.to_i64(whole)) return expected.get<std::int64_t>() == whole;
  return actual.to_f64(real) && expected.get<double>() == real;
}

std::string compare_map(const nlohmann::json& expected, Value actual, const std::string& path) {
  for (const auto& [key, value] : expected.items()) {
    auto found = actual.get(key);
    if (!found.exists() && key.ends_with("_hex")) found = actual.get(key.substr(0, key.size() - 4));
    // The key of an option is of kind 2 by rule, and text on the tape.
    if (!found.exists() && key == "key_kind" && actual.get("key").is(Tag::text) && value == 2) continue;
    if (!found.exists()) return path + "." + key + ": not decoded";
    if (key == "key_hex" && found.is(Tag::text)) {
      if (value != nlohmann::json(to_hex(tidemark::bytes::as_bytes(found.text()))))
        return path + "." + key + ": differs";
      continue;
    }
    if (auto problem = compare(value, found, path + "." + key); !problem.empty()) return problem;
  }
  return {};
}

}  // namespace

std::string compare(const nlohmann::json& expected, Value actual, const std::string& path) {
  bool same = false;
  switch (expected.type()) {
    case nlohmann::json::value_t::null: same = actual.exists() && actual.is_null(); break;
    case nlohmann::json::value_t::boolean: same = actual.is(expected.get<bool>() ? Tag::yes : Tag::no); break;
    case nlohmann::json::value_t::string: same = same_text(expected.get<std::string>(), actual); break;
    case nlohmann::json::value_t::array: {
      if (!actual.is(Tag::array) || actual.count() != expected.size()) break;
      auto item = actual.first();
      for (std::size_t index = 0; index < expected.size(); ++index, item = item.next())
        if (auto problem = compare(expected[index], item, path + "." + std::to_string(index));
            !problem.empty())
          return problem;
      return {};
    }
    case nlohmann::json::value_t::object:
      if (actual.is(Tag::map)) return compare_map(expected, actual, path);
      break;
    default: same = same_number(expected, actual); break;
  }
  return same ? std::string()
              : path + ": expected " + expected.dump().substr(0, 120) + ", decoded " + shown(actual);
}

}  // namespace vectors
