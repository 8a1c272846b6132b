#include "agdx/identity.hpp"

namespace tidemark::agdx {

bool parse_identity(std::string_view text, Identity& out) {
  constexpr std::string_view alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  if (text.size() != 26 || text[0] > '7') return false;
  out = {};
  for (auto letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    const auto digit = alphabet.find(letter);
    if (digit == std::string_view::npos) return false;
    auto carry = static_cast<std::uint32_t>(digit);
    for (auto at = out.size(); at-- > 0;) {
      const auto shifted = static_cast<std::uint32_t>(out[at]) << 5 | carry;
      out[at] = static_cast<std::uint8_t>(shifted);
      carry = shifted >> 8;
    }
  }
  return true;
}

}  // namespace tidemark::agdx
