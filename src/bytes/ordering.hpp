#pragma once

#include <algorithm>

namespace tidemark {

// Sorts where it lies, not stably. std::sort is several times the code for each type and order, which a
// module that is downloaded pays for; what is sorted here is short or rare.
template <class Range, class Before>
void order_by(Range& range, Before before) {
  if (std::is_sorted(range.begin(), range.end(), before)) return;
  std::make_heap(range.begin(), range.end(), before);
  std::sort_heap(range.begin(), range.end(), before);
}

}  // namespace tidemark
