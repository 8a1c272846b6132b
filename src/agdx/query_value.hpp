#pragma once

#include "agdx/query_columns.hpp"
#include "agdx/schema.hpp"
#include "bytes/tape.hpp"

namespace tidemark::agdx {

// One slot of a column as a typed value on a tape: for tests, tools and single values, not for whole pages.
void slot_value(const FieldTree& tree, const QueryColumns& columns, std::uint32_t node, std::uint32_t slot,
                tape::Writer& out);

}  // namespace tidemark::agdx
