#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agdx/failure.hpp"
#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "feed/failure.hpp"

namespace tidemark::client {

// How an operation failed: the CoreError of js/core/contract.ts. `kind` and `code_name` are names that live
// for ever; what is empty, zero or absent is left out on the tape.
struct Problem {
  std::string_view kind = "transport";
  std::string message;
  Error error;
  std::uint32_t code = 0;
  std::string_view code_name;
  std::optional<bool> retryable;
  std::string_view surface;
  std::string_view feature;
  std::optional<tape::U128> operation_id;
  std::optional<std::uint32_t> committed;
  std::uint32_t unconfirmed = 0;
  bytes::Buffer detail;  // one value on a tape, or nothing
};

Problem problem_of(const feed::Failure& failure);
Problem problem_of(const agdx::Failure& failure);
Problem problem_of(const Reply& reply);
Problem refused(const Error& error);
Problem closed();
// A write whose answer got lost.
Problem ambiguous();

void write(tape::Writer& out, const Problem& problem);

}  // namespace tidemark::client
