#pragma once

#include <cstdint>
#include <span>

namespace tidemark::agdx {

inline constexpr std::uint32_t not_utf8 = UINT32_MAX;

// The UTF-16 units that the text takes once it is decoded, not_utf8 when it is no UTF-8.
std::uint32_t utf16_units(std::span<const std::uint8_t> text);

}  // namespace tidemark::agdx
