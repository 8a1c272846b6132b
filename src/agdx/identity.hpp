#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tidemark::agdx {

using Identity = std::array<std::uint8_t, 16>;

// Reads the 26-character text form (Crockford base 32, either case); false when it is not one.
bool parse_identity(std::string_view text, Identity& out);

}  // namespace tidemark::agdx
