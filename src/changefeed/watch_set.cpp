#include "changefeed/watch_set.hpp"

#include <algorithm>
#include <utility>

namespace tidemark::changefeed {

void WatchSet::add(Collection collection) {
  const auto at = std::lower_bound(collections_.begin(), collections_.end(), collection);
  if (at != collections_.end() && *at == collection) return;
  collections_.insert(at, std::move(collection));
}

}  // namespace tidemark::changefeed
