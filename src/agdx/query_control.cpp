#include "agdx/query_control.hpp"

#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr std::uint32_t cursor_cap = 512;

constexpr Field text_value = text("");
constexpr Field too_large_fields[] = {text("what"), u64("size"), u64("cap")};
constexpr Message too_large_message{too_large_fields};
constexpr Field too_large = message("", too_large_message);
constexpr Field version_fields[] = {u32("expected"), u32("got")};
constexpr Message version_message{version_fields};
constexpr Field version_skew = message("", version_message);
constexpr Field stale_fields[] = {text("what"), u64("applied"), u64("required")};
constexpr Message stale_message{stale_fields};
constexpr Field stale = message("", stale_message);
constexpr Field execution_fields[] = {id("execution_id")};
constexpr Message execution_message{execution_fields};
constexpr Field execution = message("", execution_message);
constexpr Field snapshot_fields[] = {i64("snapshot_id")};
constexpr Message snapshot_message{snapshot_fields};
constexpr Field expired_snapshot = message("", snapshot_message);
constexpr Field generation_fields[] = {text("what"), u64("requested"), u64("observed")};
constexpr Message generation_message{generation_fields};
constexpr Field stale_generation = message("", generation_message);
constexpr Field target_fields[] = {text("reason")};
constexpr Message target_message{target_fields};
constexpr Field target_unavailable = message("", target_message);
constexpr Field resource_fields[] = {text("resource"), u64("observed"), u64("limit")};
constexpr Message resource_message{resource_fields};
constexpr Field resource_limit = message("", resource_message);

constexpr Variant error_variants[] = {
    {"Unsupported", &text_value},
    {"Unauthorized", &text_value},
    {"IndexNotFound", &text_value},
    {"ForkNotFound", &text_value},
    {"Backend", &text_value},
    {"Unavailable", &text_value},
    {"TooLarge", &too_large},
    {"Version", &version_skew},
    {"Stale", &stale},
    {"Cancelled", &execution},
    {"DeadlineExceeded", &execution},
    {"ExpiredSnapshot", &expired_snapshot},
    {"StaleGeneration", &stale_generation},
    {"TargetUnavailable", &target_unavailable},
    {"ResourceLimit", &resource_limit},
};

constexpr Field page_fields[] = {
    version(),
    id("execution_id").nonzero(Rule::execution_id),
    text("cursor").keeps(Limit::length, Rule::page_cursor, 1, cursor_cap),
    u64("deadline_micros").nonzero(Rule::deadline),
};
constexpr Message page{page_fields};

constexpr Field execution_request_fields[] = {version(), id("execution_id").nonzero(Rule::execution_id)};
constexpr Message execution_request{execution_request_fields};

constexpr const char* state_list[] = {"queued",    "planning", "running", "completed",
                                      "cancelled", "failed",   "expired"};
constexpr Names states = names(state_list);

bool check_status(tape::Value value, Error& error) {
  const auto state = value.get("state").text();
  const bool terminal = state != "queued" && state != "planning" && state != "running";
  const auto finished = value.get("finished_at_micros");
  if (finished.exists() != terminal) return refuse(error, Rule::status_consistency, "finished_at_micros");
  if (terminal && number(finished) < number(value.get("started_at_micros")))
    return refuse(error, Rule::status_consistency, "finished_at_micros");
  if (value.get("error").exists() != (state == "failed"))
    return refuse(error, Rule::status_consistency, "error");
  return true;
}

constexpr Field status_fields[] = {
    id("execution_id").nonzero(Rule::status_consistency),
    name("state", states),
    u64("started_at_micros").nonzero(Rule::status_consistency),
    u64("finished_at_micros").optional(),
    u64("scanned_bytes"),
    u64("produced_bytes"),
    u64("row_count"),
    one_of("error", query_error).optional(),
};
constexpr Message status{status_fields, check_status};
constexpr Field status_value = message("", status);
constexpr Field error_value = one_of("", query_error);
constexpr Variant reply_variants[] = {{"Ok", &status_value}, {"Err", &error_value}};
constexpr Union reply{reply_variants};

}  // namespace

constexpr Union query_error{error_variants};
constexpr Field query_page_envelope = message("", page);
constexpr Field query_cancel_envelope = message("", execution_request);
constexpr Field query_status_envelope = message("", execution_request);
constexpr Field query_execution_status = message("", status);
constexpr Field query_status_reply = one_of("", reply);

}  // namespace tidemark::agdx
