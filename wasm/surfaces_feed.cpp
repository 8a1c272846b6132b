#include "core.hpp"

namespace tidemark::wasm {

const client::Surfaces& surfaces() {
  static const client::Surfaces all{&iggy::feed_commands(), nullptr};
  return all;
}

}  // namespace tidemark::wasm
