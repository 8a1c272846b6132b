#include "client/managed_task.hpp"

#include <utility>

#include "agdx/command.hpp"
#include "agdx/managed_call.hpp"
#include "client/query_task.hpp"

namespace tidemark::client {
namespace {

class ManagedTask final : public TicketTask {
 public:
  ManagedTask(std::uint32_t command, tape::Value args, agdx::ManagedCallOptions options, ManagedState& state,
              Random& random)
      : call_(command, args, options, state.capabilities, state.frontier, random) {}
  Operation& operation() override { return call_; }

 private:
  bool done() const override { return call_.finished(); }
  std::optional<Problem> problem() const override {
    if (const auto& failure = call_.failure()) return problem_of(*failure);
    return std::nullopt;
  }
  void write_result(tape::Writer& out) const override { out.copy(call_.value()); }
  agdx::ManagedCall call_;
};

}  // namespace

std::unique_ptr<Task> managed_task(std::uint32_t command, tape::Value args, CallOptions options,
                                   ManagedState& state, Random& random) {
  if (command == agdx::command::query || command == agdx::command::query_page)
    return query_task(command, args, options, state, random);
  const agdx::ManagedCallOptions managed{options.timeout_micros, options.ungated};
  return std::make_unique<ManagedTask>(command, args, managed, state, random);
}

}  // namespace tidemark::client
