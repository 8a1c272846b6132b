#include "client/connection_event.hpp"

#include "bytes/decimal.hpp"
#include "bytes/tape_map.hpp"
#include "iggy/result_code.hpp"

namespace tidemark::client {
namespace {

std::string_view state_name(iggy::SessionState state) {
  constexpr std::string_view names[] = {"idle",    "dialing", "authenticating", "ready",
                                        "waiting", "paused",  "needs-auth",     "closed"};
  return names[static_cast<std::size_t>(state)];
}

std::string_view dialect_name(iggy::Dialect dialect) {
  constexpr std::string_view names[] = {"s11", "v12", "snapshot"};
  return names[static_cast<std::size_t>(dialect)];
}

std::string version_text(std::uint32_t packed) {
  return bytes::decimal(packed >> 20) + "." + bytes::decimal(packed >> 10 & 1023) + "." +
         bytes::decimal(packed & 1023);
}

Problem problem_of(const iggy::Cause& cause) {
  using Kind = iggy::Cause::Kind;
  Problem problem;
  problem.retryable = cause.retryable;
  switch (cause.kind) {
    case Kind::none:
    case Kind::local: break;
    case Kind::transport:
      problem.code = cause.code;
      problem.message = "the connection was refused or lost";
      break;
    case Kind::timeout:
      problem.kind = "timeout";
      problem.message = "the server did not answer in time";
      break;
    case Kind::protocol:
      problem = refused(cause.error);
      problem.kind = "protocol";
      problem.retryable = cause.retryable;
      break;
    case Kind::eviction:
      problem.kind = "eviction";
      problem.code = cause.code;
      problem.code_name = iggy::eviction_info(static_cast<std::uint8_t>(cause.code)).name;
      problem.message = "the server ended the session: " + std::string(problem.code_name);
      if (cause.version_max != 0)
        problem.message +=
            ", it speaks " + version_text(cause.version_min) + " to " + version_text(cause.version_max);
      break;
    case Kind::refused:
      problem.kind = "command";
      problem.code = cause.code;
      problem.code_name = iggy::code_info(cause.code).name;
      problem.message = "the login was refused: " + std::string(problem.code_name);
      break;
    case Kind::credentials:
      problem.message = "the credentials callback failed or did not answer in time";
      break;
    case Kind::woke: problem.message = "the connection did not outlive the machine's sleep"; break;
  }
  return problem;
}

}  // namespace

bytes::Buffer connection_event(const iggy::SessionEvent& event) {
  using State = iggy::SessionState;
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    map.text("type", "connection");
    map.text("state", state_name(event.state));
    map.u32("attempts", event.attempts);
    if (event.state == State::ready) map.text("dialect", dialect_name(event.dialect));
    if (event.cause.kind != iggy::Cause::Kind::none && event.cause.kind != iggy::Cause::Kind::local)
      write(map.at("error"), problem_of(event.cause));
    if (event.dial_at_micros) map.f64("dial_at", static_cast<double>(*event.dial_at_micros) / 1000.0);
  }
  return tape;
}

bytes::Buffer line_held_event() {
  bytes::Buffer tape;
  tape::Writer out(tape);
  tape::MapWriter(out).text("type", "line-held");
  return tape;
}

}  // namespace tidemark::client
