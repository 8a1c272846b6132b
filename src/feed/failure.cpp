#include "feed/failure.hpp"

namespace tidemark::feed {

Failure failure_of(const Error& error) {
  Failure failure;
  failure.error = error;
  switch (rule_class(error.rule)) {
    case RuleClass::codec: failure.kind = FailureKind::codec; break;
    case RuleClass::invalid: failure.kind = FailureKind::invalid; break;
    default: failure.kind = FailureKind::protocol; break;
  }
  return failure;
}

Failure failure_of(const Reply& reply) {
  Failure failure;
  failure.error = reply.error;
  switch (reply.outcome) {
    case Outcome::refused:
      failure.kind = FailureKind::command;
      failure.code = reply.code;
      break;
    case Outcome::unknown:
      failure.kind = reply.timed_out ? FailureKind::timeout : FailureKind::transport;
      break;
    case Outcome::not_sent:
      failure.kind = reply.timed_out ? FailureKind::timeout : FailureKind::closed;
      break;
    case Outcome::cancelled: failure.kind = FailureKind::cancelled; break;
    case Outcome::ok:
    case Outcome::malformed: return failure_of(reply.error);
  }
  return failure;
}

}  // namespace tidemark::feed
