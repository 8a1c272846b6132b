#include "agdx/text_rules.hpp"

#include <cstddef>
#include <cstdint>

namespace tidemark::agdx {
namespace {

// The code point at the front; `text` is valid UTF-8 and not empty.
std::uint32_t front(std::string_view text, std::size_t& length) {
  const auto byte = [&](std::size_t index) {
    return index < text.size() ? static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[index])) : 0U;
  };
  const auto lead = byte(0);
  if (lead < 0x80) return length = 1, lead;
  if (lead < 0xE0) return length = 2, (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  if (lead < 0xF0) return length = 3, (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  length = 4;
  return (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

bool is_space(std::uint32_t point) {
  return (point >= 0x09 && point <= 0x0D) || point == 0x20 || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

template <class Predicate>
bool any(std::string_view text, Predicate predicate) {
  std::size_t length = 0;
  for (; !text.empty(); text.remove_prefix(length < text.size() ? length : text.size()))
    if (predicate(front(text, length))) return true;
  return false;
}

bool is_control(std::uint32_t point) { return point < 0x20 || (point >= 0x7F && point <= 0x9F); }

}  // namespace

bool has_control(std::string_view text) { return any(text, is_control); }

bool has_control_except_layout(std::string_view text) {
  return any(text, [](std::uint32_t point) {
    return is_control(point) && point != '\n' && point != '\r' && point != '\t';
  });
}

bool has_outer_space(std::string_view text) {
  if (text.empty()) return false;
  std::size_t length = 0;
  if (is_space(front(text, length))) return true;
  auto last = text.size() - 1;
  while (last > 0 && (static_cast<std::uint8_t>(text[last]) & 0xC0) == 0x80) --last;
  return is_space(front(text.substr(last), length));
}

bool is_blank(std::string_view text) {
  return !any(text, [](std::uint32_t point) { return !is_space(point); });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 255 && !has_outer_space(text) && !has_control(text);
}

}  // namespace tidemark::agdx
