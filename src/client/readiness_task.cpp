#include "client/managed_task.hpp"

namespace tidemark::client {

std::optional<Problem> ReadinessTask::problem() const {
  if (const auto& failure = readiness_.failure()) return problem_of(*failure);
  return std::nullopt;
}

}  // namespace tidemark::client
