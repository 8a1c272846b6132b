#include "agdx/hello_probe.hpp"

#include "agdx/command.hpp"

namespace tidemark::agdx {

std::optional<Request> HelloProbe::poll_request(Now) {
  if (asked_) return std::nullopt;
  asked_ = true;
  Request request;
  request.command = command::hello;
  request.timeout_micros = timeout_micros_;
  return request;
}

void HelloProbe::on_reply(std::uint32_t, const Reply& reply, Now) {
  if (finished_) return;
  finished_ = true;
  // A streaming server without the managed plane refuses the code as an invalid command, or answers nothing.
  constexpr std::uint32_t invalid_command = 3;
  if (reply.outcome == Outcome::refused && reply.code == invalid_command) return capabilities_.rejected();
  if (reply.outcome != Outcome::ok) return capabilities_.failed();
  if (reply.payload.empty()) return capabilities_.rejected();
  bytes::Buffer announce;
  if (!capabilities_.form().read(reply.payload, announce)) return capabilities_.failed();
  capabilities_.answered(tape::Value{announce});
}

}  // namespace tidemark::agdx
