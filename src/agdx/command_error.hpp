#pragma once

#include <string_view>

#include "agdx/message.hpp"

// Command errors and result codes, section 3.4 of the contract.
namespace tidemark::agdx {

enum class ResultCode : std::uint16_t {
  ok,
  unsupported,
  not_found,
  invalid_argument,
  too_large,
  conflict,
  stale,
  version_skew,
  unauthenticated,
  backend,
  forbidden,
  step_up_required,
  unavailable,
  resource_limit,
  cancelled,
  deadline_exceeded,
  expired_snapshot,
  stale_generation,
  target_unavailable,
  pending,
  backend_unavailable,
};
inline constexpr std::uint16_t known_result_codes = 21;

extern const Field command_error;

// Codes newer than this contract keep their number; their name is "unrecognized".
std::string_view result_code_name(std::uint16_t code);
// Whether the same request may be sent again as it is (a mutation: only under its identity).
bool is_retryable(std::uint16_t code);
// Whether a mutation answered with it may yet take effect.
bool leaves_outcome_unknown(std::uint16_t code);
std::uint16_t http_status(std::uint16_t code);

// The code of a decoded CommandError.
std::uint16_t result_code(tape::Value command_error);

// The code of a surface's own error (the value under "Err"), sections 10.9, 13.7 and 14.5.
ResultCode surface_result_code(tape::Value surface_error);

}  // namespace tidemark::agdx
