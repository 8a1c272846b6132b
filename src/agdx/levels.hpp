#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

// Levels of query consistency, each above the one before.
namespace tidemark::agdx {

inline constexpr std::string_view levels[] = {"eventual", "read_your_writes", "strong"};

// Past the last one when there is no such level.
inline std::size_t level_of(std::string_view name) {
  for (std::size_t index = 0; index < std::size(levels); ++index)
    if (levels[index] == name) return index;
  return std::size(levels);
}

}  // namespace tidemark::agdx
