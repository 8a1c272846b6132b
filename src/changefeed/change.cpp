#include "changefeed/change.hpp"

namespace tidemark::changefeed {

Admission admit(const Outline& change) {
  const bool has_images = change.op != Op::advance;
  const bool lacks_before = has_images && change.op != Op::insert && !change.has_before;
  const bool lacks_after = has_images && change.op != Op::remove && !change.has_after;
  return {change.system, !change.system && !lacks_before && !lacks_after, change.op == Op::update};
}

}  // namespace tidemark::changefeed
