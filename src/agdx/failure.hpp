#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "machine/operation.hpp"

namespace tidemark::agdx {

// The kinds of CoreError (js/core/contract.ts) that a managed operation ends with.
enum class FailureKind : std::uint8_t {
  invalid,      // refused here, or a reply that a rule refuses: `error`
  codec,        // a reply that does not decode: `error`
  protocol,     // not an acceptable answer to this request: `error`
  unsupported,  // nothing was sent: `surface`, `feature`
  command,      // a command error: `code`, with its `code_name` when it is the managed plane's
  surface,      // the surface's own error: `surface`, `code`, `code_name`, `detail`
  timeout,
  transport,
  cancelled,
  ambiguous,  // the outcome of a mutation is not known: `operation_id`
};
constexpr std::string_view failure_kind_name(FailureKind kind) {
  constexpr std::string_view names[] = {"invalid", "codec",   "protocol",  "unsupported", "command",
                                        "surface", "timeout", "transport", "cancelled",   "ambiguous"};
  return names[static_cast<std::size_t>(kind)];
}

struct Failure {
  FailureKind kind = FailureKind::transport;
  Error error;
  std::uint32_t code = 0;
  // Empty for a code of the streaming server.
  std::string_view code_name;
  std::optional<bool> retryable;
  std::string_view surface;
  std::string_view feature;
  std::optional<tape::U128> operation_id;
  // What the server said, in words.
  std::string message;
  // The surface's error as it came: one value on a tape, or nothing.
  bytes::Buffer detail;
};

// A broken rule: local, or of a reply. The kind follows from the rule's class.
Failure failure_of(const Error& error);
// Of a reply that is not `ok`, where an unknown outcome is no more than a lost answer.
Failure failure_of(const Reply& reply);

}  // namespace tidemark::agdx
