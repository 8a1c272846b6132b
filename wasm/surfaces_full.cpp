#include "core.hpp"

namespace tidemark::wasm {

const client::Surfaces& surfaces() {
  static const client::Surfaces all{&iggy::all_commands(), &client::managed_task};
  return all;
}

}  // namespace tidemark::wasm
