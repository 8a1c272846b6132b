#include "core.hpp"

namespace tidemark::wasm {
namespace {

// Words of js/core/glue.ts.
enum CallFlag : std::uint32_t { ungated = 1, ensure = 2 };

}  // namespace

const client::Surfaces& surfaces() {
  static const client::Surfaces all{agdx::whole_announce, &client::call_task, &client::managed_task,
                                    &client::publish_task, &client::offset_for_time_task};
  return all;
}

std::uint32_t Core::call(std::uint32_t command, std::uint32_t length, double timeout_ms, std::uint32_t flags,
                         double mono, double wall) {
  const client::CallOptions options{micros(timeout_ms), (flags & ungated) != 0, (flags & ensure) != 0};
  return client_->call(command, tape(length), options, at(mono, wall));
}

std::uint32_t Core::publish(std::uint32_t length, double mono, double wall) {
  return client_->publish(tape(length), at(mono, wall));
}

std::uint32_t Core::offset_for_time(std::uint32_t length, double mono, double wall) {
  return client_->offset_for_time(tape(length), at(mono, wall));
}

}  // namespace tidemark::wasm

EMSCRIPTEN_BINDINGS(full) {
  using namespace tidemark::wasm;
  method<&Core::call>("Core.call");
  method<&Core::publish>("Core.publish");
  method<&Core::offset_for_time>("Core.offsetForTime");
}
