#pragma once

#include <memory>

#include "client/call.hpp"
#include "client/task.hpp"
#include "feed/partitions.hpp"
#include "iggy/protocol_version.hpp"
#include "machine/random.hpp"

// What a client may be asked for on the streaming protocol beside reading, as tasks. A build links those that
// its surfaces name. None when the arguments are refused, with the reason in `error`.
namespace tidemark::client {

// A command below 1,000,000.
std::unique_ptr<Task> call_task(std::uint32_t command, tape::Value args, CallOptions options,
                                iggy::Dialect dialect);
// Partitions and numbers must outlive the task.
std::unique_ptr<Task> publish_task(tape::Value args, feed::Partitions& partitions, Random& random,
                                   Error& error);
// {stream, topic, micros}
std::unique_ptr<Task> offset_for_time_task(tape::Value args, iggy::Dialect dialect, Error& error);

}  // namespace tidemark::client
