#include <emscripten/bind.h>
#include <malloc.h>

namespace {

// Bytes handed out and not given back: what a leak shows in.
std::uint32_t in_use() { return static_cast<std::uint32_t>(mallinfo().uordblks); }

}  // namespace

EMSCRIPTEN_BINDINGS(allocator) { emscripten::function("inUse", &in_use); }
