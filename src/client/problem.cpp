#include "client/problem.hpp"

#include "bytes/decimal.hpp"
#include "bytes/tape_map.hpp"
#include "iggy/result_code.hpp"

namespace tidemark::client {
namespace {

std::string_view rule_kind(Rule rule) {
  switch (rule_class(rule)) {
    case RuleClass::codec: return "codec";
    case RuleClass::invalid: return "invalid";
    default: return "protocol";
  }
}

std::string message_of(const Problem& problem) {
  if (problem.kind == "invalid" || problem.kind == "codec" || problem.kind == "protocol")
    return std::string(rule_name(problem.error.rule));
  if (problem.kind == "command")
    return "the server refused: " + std::string(problem.code_name) + " (" + bytes::decimal(problem.code) +
           ")";
  if (problem.kind == "timeout") return "no answer in time";
  if (problem.kind == "transport") return "the connection was lost before an answer came";
  if (problem.kind == "cancelled") return "cancelled";
  if (problem.kind == "ambiguous") return "no answer came: it may have taken effect, or not";
  if (problem.kind == "unsupported") return "the server does not offer this";
  if (problem.kind == "publish")
    return bytes::decimal(problem.committed.value_or(0)) + " records are stored, " +
           bytes::decimal(problem.unconfirmed) + " may be";
  if (problem.kind == "closed") return "the connection is closed, or not let in";
  return std::string(problem.kind);
}

Problem of_kind(std::string_view kind) {
  Problem problem;
  problem.kind = kind;
  problem.message = message_of(problem);
  return problem;
}

}  // namespace

Problem problem_of(const feed::Failure& failure) {
  Problem problem;
  problem.kind = feed::failure_kind_name(failure.kind);
  problem.error = failure.error;
  if (failure.kind == feed::FailureKind::command || failure.code != 0) {
    const auto& info = iggy::code_info(failure.code);
    problem.code = failure.code;
    problem.code_name = info.name;
    problem.retryable = iggy::retryable(info.action);
  }
  if (failure.kind == feed::FailureKind::publish) {
    problem.committed = failure.committed;
    problem.unconfirmed = failure.unconfirmed;
  }
  problem.message = message_of(problem);
  return problem;
}

Problem problem_of(const agdx::Failure& failure) {
  Problem problem;
  problem.kind = agdx::failure_kind_name(failure.kind);
  problem.error = failure.error;
  problem.code = failure.code;
  problem.code_name = failure.code_name;
  problem.retryable = failure.retryable;
  if (failure.kind == agdx::FailureKind::command && failure.code_name.empty()) {
    const auto& info = iggy::code_info(failure.code);
    problem.code_name = info.name;
    if (!problem.retryable) problem.retryable = iggy::retryable(info.action);
  }
  problem.surface = failure.surface;
  problem.feature = failure.feature;
  problem.operation_id = failure.operation_id;
  problem.detail = failure.detail;
  problem.message = failure.message.empty() ? message_of(problem) : failure.message;
  return problem;
}

Problem problem_of(const Reply& reply) { return problem_of(feed::failure_of(reply)); }

Problem refused(const Error& error) {
  Problem problem;
  problem.kind = rule_kind(error.rule);
  problem.error = error;
  problem.message = message_of(problem);
  return problem;
}

Problem closed() { return of_kind("closed"); }
Problem ambiguous() { return of_kind("ambiguous"); }

void write(tape::Writer& out, const Problem& problem) {
  tape::MapWriter map(out);
  map.text("kind", problem.kind);
  map.text("message", problem.message);
  if (problem.error) {
    map.text("rule", rule_name(problem.error.rule));
    map.u32("position", problem.error.position);
    if (!problem.error.path().empty()) map.text("field", problem.error.path());
  }
  if (problem.code != 0 || !problem.code_name.empty()) map.u32("code", problem.code);
  if (!problem.code_name.empty()) map.text("code_name", problem.code_name);
  if (problem.retryable) map.boolean("retryable", *problem.retryable);
  if (!problem.surface.empty()) map.text("surface", problem.surface);
  if (!problem.feature.empty()) map.text("feature", problem.feature);
  if (problem.operation_id) map.u128("operation_id", *problem.operation_id);
  if (problem.committed) {
    map.u32("committed", *problem.committed);
    map.u32("unconfirmed", problem.unconfirmed);
  }
  if (!problem.detail.empty()) map.value("detail", problem.detail);
}

}  // namespace tidemark::client
