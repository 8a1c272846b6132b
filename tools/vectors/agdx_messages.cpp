#include "agdx_messages.hpp"

#include "agdx/command_error.hpp"
#include "agdx/control.hpp"
#include "agdx/envelopes.hpp"
#include "agdx/hello.hpp"
#include "agdx/projection.hpp"

namespace vectors {

namespace agdx = tidemark::agdx;

const agdx::Field* find_message(std::string_view name) {
  struct Entry {
    std::string_view name;
    const agdx::Field* type;
  };
  static const Entry entries[] = {
      {"ManagedRequestEnvelope", &agdx::managed_request_envelope},
      {"ManagedReadEnvelope", &agdx::managed_read_envelope},
      {"ManagedReplyEnvelope", &agdx::managed_reply_envelope},
      {"BackendAnnounce", &agdx::backend_announce},
      {"HelloReply", &agdx::hello_reply},
      {"CommandError", &agdx::command_error},
      {"ControlEnvelope", &agdx::control_envelope},
      {"Projection", &agdx::projection},
      {"ProjectionBinding", &agdx::projection_binding},
  };
  for (const auto& entry : entries)
    if (entry.name == name) return entry.type;
  return nullptr;
}

}  // namespace vectors
