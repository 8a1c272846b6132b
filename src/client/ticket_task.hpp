#pragma once

#include <optional>

#include "client/problem.hpp"
#include "client/task.hpp"

namespace tidemark::client {

// Ends as one result or failure of its ticket.
class TicketTask : public Task {
 public:
  bool report(std::uint32_t id, Events& events) final;
  void close(std::uint32_t id, Events& events) final { events.failure(id, closed()); }

 protected:
  virtual bool done() const = 0;
  virtual std::optional<Problem> problem() const = 0;
  virtual void write_result(tape::Writer& out) const = 0;
};

}  // namespace tidemark::client
