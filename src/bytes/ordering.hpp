#pragma once

#include <cstdlib>
#include <type_traits>

namespace tidemark {

// Sorts where it lies by a number of each item, not stably. One sorting routine for all types, where
// std::sort is one for each: a module that is downloaded pays for them.
template <auto Key, class Range>
void order_by(Range& range) {
  using Item = typename Range::value_type;
  static_assert(std::is_trivially_copyable_v<Item>);
  const auto compare = [](const void* left, const void* right) {
    const auto a = static_cast<const Item*>(left)->*Key;
    const auto b = static_cast<const Item*>(right)->*Key;
    return a < b ? -1 : static_cast<int>(b < a);
  };
  if (!range.empty()) std::qsort(range.data(), range.size(), sizeof(Item), compare);
}

}  // namespace tidemark
