#pragma once

#include <memory>

#include "agdx/capabilities.hpp"
#include "agdx/frontier.hpp"
#include "agdx/hello_probe.hpp"
#include "agdx/readiness.hpp"
#include "client/call.hpp"
#include "client/query_decoders.hpp"
#include "client/ticket_task.hpp"
#include "machine/random.hpp"

// The operations of the managed plane as tasks.
namespace tidemark::client {

// What managed calls of one connection share.
struct ManagedState {
  explicit ManagedState(const agdx::AnnounceForm& form) : capabilities({}, form) {}

  agdx::Capabilities capabilities;
  agdx::SeenFrontier frontier;
  QueryDecoders query_decoders;
};

// A managed command (from 1,000,000 on). The state and the numbers must outlive the task.
std::unique_ptr<Task> managed_task(std::uint32_t command, tape::Value args, CallOptions options,
                                   ManagedState& state, Random& random);

class ReadinessTask final : public TicketTask {
 public:
  ReadinessTask(agdx::Capabilities& capabilities, std::uint64_t timeout_micros)
      : capabilities_(capabilities), readiness_(capabilities, timeout_micros) {}
  Operation& operation() override { return readiness_; }

 private:
  bool done() const override { return readiness_.finished(); }
  std::optional<Problem> problem() const override;
  void write_result(tape::Writer& out) const override { out.copy(capabilities_.value().span()); }
  const agdx::Capabilities& capabilities_;
  agdx::Readiness readiness_;
};

}  // namespace tidemark::client
