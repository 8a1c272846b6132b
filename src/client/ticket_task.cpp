#include "client/ticket_task.hpp"

namespace tidemark::client {

bool TicketTask::report(std::uint32_t id, Events& events) {
  if (!done()) return false;
  if (const auto failed = problem()) {
    events.failure(id, *failed);
    return true;
  }
  bytes::Buffer value;
  tape::Writer out(value);
  write_result(out);
  events.result(id, value);
  return true;
}

}  // namespace tidemark::client
