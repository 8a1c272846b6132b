#include <malloc.h>

#include "border.hpp"

EMSCRIPTEN_BINDINGS(allocator) {
  // Bytes handed out and not given back: what a leak shows in.
  emscripten::function("inUse", +[] { return static_cast<std::uint32_t>(mallinfo().uordblks); });
}
