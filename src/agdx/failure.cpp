#include "agdx/failure.hpp"

namespace tidemark::agdx {

Failure failure_of(const Error& error) {
  Failure failure;
  failure.error = error;
  switch (rule_class(error.rule)) {
    case RuleClass::invalid: failure.kind = FailureKind::invalid; break;
    case RuleClass::protocol: failure.kind = FailureKind::protocol; break;
    default: failure.kind = FailureKind::codec; break;
  }
  return failure;
}

Failure failure_of(const Reply& reply) {
  Failure failure;
  failure.code = reply.code;
  switch (reply.outcome) {
    case Outcome::refused: failure.kind = FailureKind::command; break;
    case Outcome::cancelled: failure.kind = FailureKind::cancelled; break;
    case Outcome::malformed:
      failure.kind = FailureKind::codec;
      failure.error = reply.error;
      break;
    default: failure.kind = reply.timed_out ? FailureKind::timeout : FailureKind::transport; break;
  }
  return failure;
}

}  // namespace tidemark::agdx
