#include "core.hpp"

namespace tidemark::wasm {

const client::Surfaces& surfaces() {
  static const client::Surfaces all{.announce = agdx::brief_announce};
  return all;
}

std::uint32_t Core::page(const client::Event&) { return 0; }

}  // namespace tidemark::wasm
