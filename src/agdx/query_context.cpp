#include "agdx/query_context.hpp"

#include "agdx/table.hpp"
#include "agdx/text_rules.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr const char* level_list[] = {"eventual", "read_your_writes", "strong"};
constexpr const char* dialect_list[] = {"data_fusion", "postgres", "my_sql", "sqlite"};
constexpr const char* relation_list[] = {"current", "historical", "ahead_of_observed_checkpoint"};
constexpr Names relations = names(relation_list);

bool check_page(tape::Value page, Error& error) {
  const auto cursor = page.get("next_cursor");
  const bool has_cursor = cursor.exists() && !cursor.is_null();
  return page.get("has_more").boolean() == has_cursor ||
         refuse(error, Rule::page_cursor_agreement, "has_more");
}

constexpr Field page_fields[] = {
    u64("offset").optional(),
    u32("limit").keeps(Limit::range, Rule::page_limit, 1, 1000),
    u64("total").optional(),
    boolean("has_more"),
    text("next_cursor").optional().label(Rule::page_cursor, 512),
};
constexpr Message page_message{page_fields, check_page};

constexpr Field engine_fields[] = {text("name"), text("version"), name("dialect", sql_dialects).optional()};
constexpr Message engine{engine_fields};

constexpr Field operational_fields[] = {
    text("index"),
    id("backend_resource_id"),
    u64("backend_generation"),
    u64("runtime_configuration_revision"),
};
constexpr Message operational_message{operational_fields};
constexpr Field operational = message("", operational_message);
constexpr Field lakehouse_fields[] = {
    id("destination_id"),
    u64("destination_generation"),
    id("backend_resource_id"),
    u64("backend_generation"),
    u64("runtime_configuration_revision"),
    blob("table_uuid"),
    text("namespace").list(),
    text("table"),
    i64("snapshot_id"),
    i32("schema_id"),
    i32("partition_spec_id"),
};
constexpr Message lakehouse_message{lakehouse_fields};
constexpr Field lakehouse = message("", lakehouse_message);
constexpr Variant target_variants[] = {{"operational", &operational}, {"lakehouse", &lakehouse}};
constexpr Union target{target_variants, Union::Tagging::kind};

constexpr Field boundary_fields[] = {blob("digest"), name("relation_to_current", relations)};
constexpr Message boundary{boundary_fields};

constexpr Field frontier_fields[] = {
    text("stream"),        text("topic"), u32("partition_id"), u64("topic_created_at_micros").optional(),
    u64("applied_offset"),
};
constexpr Message frontier{frontier_fields};

std::uint32_t level(tape::Value name) {
  for (std::uint32_t index = 0; index < consistency_levels.count; ++index)
    if (name.text() == consistency_levels.names[index]) return index;
  return 0;
}

bool there(tape::Value value) { return value.exists() && !value.is_null(); }
bool nonzero(tape::Value value) {
  return value.is(tape::Tag::bytes) ? !all_zero(value.bytes()) : number(value) != 0;
}
bool not_negative(tape::Value value) {
  std::int64_t whole = 0;
  return value.to_i64(whole) && whole >= 0;
}

bool check_target(tape::Value context, Error& error) {
  const auto to = context.get("resolved_target");
  const auto lacks = [&](std::string_view field) { return refuse(error, Rule::target_evidence, field); };
  constexpr std::string_view evidence[] = {"boundary", "checkpoint_revision", "global_state_revision"};
  const bool operates = to.get("kind").text() == "operational";
  if (operates && !is_name(to.get("index").text())) return lacks("resolved_target.index");
  if (!operates) {
    if (!nonzero(to.get("destination_id"))) return lacks("resolved_target.destination_id");
    if (!nonzero(to.get("destination_generation"))) return lacks("resolved_target.destination_generation");
  }
  if (!nonzero(to.get("backend_resource_id"))) return lacks("resolved_target.backend_resource_id");
  if (!nonzero(to.get("backend_generation"))) return lacks("resolved_target.backend_generation");
  if (!nonzero(to.get("runtime_configuration_revision")))
    return lacks("resolved_target.runtime_configuration_revision");
  if (!operates) {
    if (to.get("table_uuid").bytes().size() != 16) return lacks("resolved_target.table_uuid");
    const auto space = to.get("namespace");
    if (space.count() == 0) return lacks("resolved_target.namespace");
    if (!each(space, [](tape::Value part, std::uint32_t) { return is_name(part.text()); }))
      return lacks("resolved_target.namespace");
    if (!is_name(to.get("table").text())) return lacks("resolved_target.table");
    if (!not_negative(to.get("snapshot_id")) || !nonzero(to.get("snapshot_id")))
      return lacks("resolved_target.snapshot_id");
    if (!not_negative(to.get("schema_id"))) return lacks("resolved_target.schema_id");
    if (!not_negative(to.get("partition_spec_id"))) return lacks("resolved_target.partition_spec_id");
  }
  for (const auto field : evidence)
    if (there(context.get(field)) == operates) return lacks(field);
  if (!operates && context.get("boundary").get("digest").bytes().size() != 32)
    return refuse(error, Rule::digest_length, "boundary.digest");
  return true;
}

bool check_context(tape::Value context, Error& error) {
  if (!nonzero(context.get("execution_id"))) return refuse(error, Rule::execution_id, "execution_id");
  const auto from = context.get("engine");
  if (!is_name(from.get("name").text())) return refuse(error, Rule::engine_identity, "engine.name");
  if (!is_name(from.get("version").text())) return refuse(error, Rule::engine_identity, "engine.version");
  if (level(context.get("delivered_consistency")) < level(context.get("requested_consistency")))
    return refuse(error, Rule::consistency_downgrade, "delivered_consistency");
  return check_target(context, error);
}

constexpr Field context_fields[] = {
    id("execution_id"),
    message("engine", engine),
    one_of("resolved_target", target),
    name("requested_consistency", consistency_levels),
    name("delivered_consistency", consistency_levels),
    message("boundary", boundary).optional(),
    u64("checkpoint_revision").optional(),
    u64("global_state_revision").optional(),
    boolean("truncated"),
    u64("elapsed_micros"),
    u64("scanned_bytes"),
    u64("produced_bytes"),
    u64("row_count"),
    message("frontier", frontier).list().unless(),
};
constexpr Message context_message{context_fields, check_context};

}  // namespace

constexpr Names consistency_levels = names(level_list);
constexpr Names sql_dialects = names(dialect_list);
constexpr Field query_page = message("page", page_message);
constexpr Field query_context = message("context", context_message);

}  // namespace tidemark::agdx
