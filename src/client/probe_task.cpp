#include "client/probe_task.hpp"

namespace tidemark::client {

bool ProbeTask::report(std::uint32_t, Events& events) {
  if (!probe_.finished()) return false;
  const auto held = capabilities_.value().span();
  events.capabilities(held);
  for (const auto ticket : waiting_) events.result(ticket, held);
  return true;
}

void ProbeTask::close(std::uint32_t, Events& events) {
  for (const auto ticket : waiting_) events.failure(ticket, closed());
}

}  // namespace tidemark::client
