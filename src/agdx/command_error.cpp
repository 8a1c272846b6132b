#include "agdx/command_error.hpp"

#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

struct CodeFacts {
  const char* name;
  std::uint16_t http;
  bool retryable;
};

constexpr CodeFacts facts[known_result_codes] = {
    {"ok", 200, false},
    {"unsupported", 501, false},
    {"not_found", 404, false},
    {"invalid_argument", 400, false},
    {"too_large", 413, false},
    {"conflict", 409, false},
    {"stale", 503, true},
    {"version_skew", 400, false},
    {"unauthenticated", 401, false},
    {"backend", 502, false},
    {"forbidden", 403, false},
    {"step_up_required", 403, false},
    {"unavailable", 503, true},
    {"resource_limit", 429, false},
    {"cancelled", 409, false},
    {"deadline_exceeded", 408, false},
    {"expired_snapshot", 410, false},
    {"stale_generation", 409, false},
    {"target_unavailable", 503, true},
    {"pending", 503, false},
    {"backend_unavailable", 503, true},
};

constexpr Field unrecognized_value = u16("");

constexpr auto code_variants = [] {
  struct {
    Variant list[known_result_codes + 1];
  } result;
  for (std::size_t code = 0; code < known_result_codes; ++code)
    result.list[code] = {facts[code].name, nullptr};
  result.list[known_result_codes] = {"unrecognized", &unrecognized_value};
  return result;
}();
constexpr Union codes{code_variants.list};

constexpr Field error_fields[] = {one_of("code", codes), text("message")};
constexpr Message error_message{error_fields};

struct SurfaceCode {
  const char* variant;
  ResultCode code;
};
constexpr SurfaceCode surface_codes[] = {
    {"Unsupported", ResultCode::unsupported},
    {"Unauthorized", ResultCode::forbidden},
    {"IndexNotFound", ResultCode::not_found},
    {"ForkNotFound", ResultCode::not_found},
    {"NotFound", ResultCode::not_found},
    {"Invalid", ResultCode::invalid_argument},
    {"InvalidKey", ResultCode::invalid_argument},
    {"InvalidNamespace", ResultCode::invalid_argument},
    {"Backend", ResultCode::backend},
    {"Unavailable", ResultCode::unavailable},
    {"NotLeader", ResultCode::unavailable},
    {"TooLarge", ResultCode::too_large},
    {"Version", ResultCode::version_skew},
    {"VersionConflict", ResultCode::conflict},
    {"Conflict", ResultCode::conflict},
    {"LeaseLost", ResultCode::conflict},
    {"Stale", ResultCode::stale},
    {"Cancelled", ResultCode::cancelled},
    {"DeadlineExceeded", ResultCode::deadline_exceeded},
    {"ExpiredSnapshot", ResultCode::expired_snapshot},
    {"StaleGeneration", ResultCode::stale_generation},
    {"TargetUnavailable", ResultCode::target_unavailable},
    {"ResourceLimit", ResultCode::resource_limit},
};

}  // namespace

constexpr Field command_error = message("", error_message);

std::string_view result_code_name(std::uint16_t code) {
  return code < known_result_codes ? facts[code].name : "unrecognized";
}

bool is_retryable(std::uint16_t code) { return code < known_result_codes && facts[code].retryable; }

bool leaves_outcome_unknown(std::uint16_t code) {
  return code == static_cast<std::uint16_t>(ResultCode::pending) ||
         code == static_cast<std::uint16_t>(ResultCode::backend_unavailable) ||
         code == static_cast<std::uint16_t>(ResultCode::unavailable);
}

std::uint16_t http_status(std::uint16_t code) { return code < known_result_codes ? facts[code].http : 500; }

std::uint16_t result_code(tape::Value error) {
  const auto code = error.get("code");
  if (code.is(tape::Tag::map)) return static_cast<std::uint16_t>(number(code.get("unrecognized")));
  for (std::uint16_t index = 0; index < known_result_codes; ++index)
    if (code.text() == facts[index].name) return index;
  return UINT16_MAX;
}

ResultCode surface_result_code(tape::Value error) {
  const auto variant = error.is(tape::Tag::map) ? error.first().text() : error.text();
  for (const auto& entry : surface_codes)
    if (variant == entry.variant) return entry.code;
  return ResultCode::backend;
}

}  // namespace tidemark::agdx
