#pragma once

#include <memory>

#include "client/managed_task.hpp"

namespace tidemark::client {

// A query (`args`: { v, query }) or a further page of one: ends as a page, an event with columns, or as a
// failure of its ticket. The state and the numbers must outlive the task.
std::unique_ptr<Task> query_task(std::uint32_t command, tape::Value args, CallOptions options,
                                 ManagedState& state, Random& random);

}  // namespace tidemark::client
