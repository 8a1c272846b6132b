#include "feed/position.hpp"

#include "bytes/ordering.hpp"

namespace tidemark::feed {

void ascending(Positions& positions) {
  order_by(positions,
           [](const Position& left, const Position& right) { return left.partition < right.partition; });
}

}  // namespace tidemark::feed
