#pragma once

#include <cstdint>
#include <string_view>

#include "bytes/error.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

// The kinds of CoreError (js/core/contract.ts) that an operation of this folder ends with.
enum class FailureKind : std::uint8_t {
  invalid,    // refused here: `error`
  codec,      // bytes that do not decode: `error`
  protocol,   // not an acceptable answer: `error`
  command,    // the server refused: `code`
  timeout,    // a deadline passed
  transport,  // the connection was lost and the request could not be repeated
  cancelled,  // by the owner
  closed,     // the client is closed or not allowed in
  publish,    // some records may not have been stored: `committed`, `unconfirmed`
};
constexpr std::string_view failure_kind_name(FailureKind kind) {
  constexpr std::string_view names[] = {"invalid",   "codec",     "protocol", "command", "timeout",
                                        "transport", "cancelled", "closed",   "publish"};
  return names[static_cast<std::size_t>(kind)];
}

struct Failure {
  FailureKind kind = FailureKind::transport;
  std::uint32_t code = 0;
  Error error;
  std::uint32_t committed = 0;    // records known to be stored
  std::uint32_t unconfirmed = 0;  // records that may or may not be stored
};

// What a reply that is not `ok` means to the owner of the operation.
Failure failure_of(const Reply& reply);
Failure failure_of(const Error& error);

}  // namespace tidemark::feed
