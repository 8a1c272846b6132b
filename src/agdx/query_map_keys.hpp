#pragma once

#include <cstdint>

#include "agdx/query_columns.hpp"

namespace tidemark::agdx {

// Whether the key in slot `a` comes before the one in slot `b`, by canonical key bytes.
bool key_before(const QueryColumn& column, std::uint32_t a, std::uint32_t b);

}  // namespace tidemark::agdx
