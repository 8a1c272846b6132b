#include "feed/position.hpp"

#include "bytes/ordering.hpp"

namespace tidemark::feed {

void ascending(Positions& positions) { order_by<&Position::partition>(positions); }

}  // namespace tidemark::feed
