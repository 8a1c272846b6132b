#include "agdx/hello.hpp"

#include "agdx/table.hpp"
#include "agdx/topology.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr std::uint32_t label_cap = 4096;
constexpr std::uint32_t reason_cap = 32;

constexpr const char* mode_list[] = {"operational", "lakehouse"};
constexpr const char* desired_list[] = {"disabled", "enabled"};
constexpr const char* observed_list[] = {"disabled", "starting", "ready", "degraded", "unavailable"};
constexpr const char* reason_list[] = {
    "disabled",
    "configuration_pending",
    "configuration_rejected",
    "credential_unavailable",
    "object_store_unavailable",
    "catalog_unavailable",
    "query_runtime_unavailable",
    "generation_mismatch",
    "probe_failed",
};
constexpr const char* file_format_list[] = {"parquet"};
constexpr const char* table_format_list[] = {"iceberg_v2"};
constexpr const char* dialect_list[] = {"data_fusion", "postgres", "my_sql", "sqlite"};
constexpr const char* time_travel_list[] = {"snapshot_id", "timestamp_micros"};
constexpr const char* consistency_list[] = {"eventual", "read_your_writes", "strong"};
constexpr const char* logical_type_list[] = {
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "decimal",
    "date",
    "time_micros",
    "timestamp_micros",
    "timestamp_tz_micros",
    "string",
    "uuid",
    "fixed",
    "binary",
    "struct",
    "list",
    "map",
};
constexpr const char* paging_list[] = {"offset", "cursor"};
constexpr const char* codec_list[] = {"json", "headers_only", "avro", "protobuf", "cbor", "unknown"};

constexpr Names modes = names(mode_list);
constexpr Names desired_states = names(desired_list);
constexpr Names observed_states = names(observed_list);
constexpr Names reason_codes = names(reason_list);
constexpr Names file_formats = names(file_format_list);
constexpr Names table_formats = names(table_format_list);
constexpr Names dialects = names(dialect_list);
constexpr Names time_travels = names(time_travel_list);
constexpr Names consistencies = names(consistency_list);
constexpr Names logical_types = names(logical_type_list);
constexpr Names pagings = names(paging_list);
constexpr Names codecs = names(codec_list, true);

bool repeats_text(tape::Value array) {
  return !each(array, [&](tape::Value item, std::uint32_t index) {
    return each(array, [&](tape::Value other, std::uint32_t other_index) {
      return other_index >= index || other.text() != item.text();
    });
  });
}

constexpr Field versions_fields[] = {
    u32("query"),
    u32("control"),
    u32("kv"),
    u32("fork"),
    u32("agent").unless(),
    u32("graph").unless(),
    u32("checkpoint").unless(),
    u32("filter").unless(),
    u64("features").unless(),
};
constexpr Message versions{versions_fields};

constexpr Field implementation_fields[] = {
    text("kind").label(Rule::descriptor_text, label_cap),
    text("version").label(Rule::descriptor_text, label_cap),
};
constexpr Message implementation{implementation_fields};

constexpr Field reason_fields[] = {
    name("code", reason_codes),
    text("detail").optional().label(Rule::descriptor_text, label_cap),
};
constexpr Message reason{reason_fields};

constexpr Field readiness_fields[] = {
    boolean("ready"),
    message("reasons", reason).list(),
    u64("observed_at_micros"),
};
constexpr Message readiness{readiness_fields};

constexpr Field materialization_fields[] = {
    name("file_format", file_formats),
    name("table_format", table_formats),
    boolean("create_table"),
    boolean("append"),
};
constexpr Message materialization{materialization_fields};

bool check_query(tape::Value query, Error& error) {
  for (const auto* key : {"dialects", "consistency", "logical_types", "paging"})
    if (query.get(key).count() == 0) return refuse(error, Rule::query_capabilities, key);
  for (const auto* key : {"dialects", "time_travel", "consistency", "logical_types", "paging"})
    if (repeats_text(query.get(key))) return refuse(error, Rule::descriptor_repeat, key);
  return true;
}

constexpr Field query_fields[] = {
    name("dialects", dialects).list(),
    name("time_travel", time_travels).list(),
    name("consistency", consistencies).list(),
    name("logical_types", logical_types).list(),
    name("paging", pagings).list(),
    boolean("cancellation"),
    boolean("execution_status"),
    boolean("raw_sql"),
};
constexpr Message query{query_fields, check_query};

constexpr Field schema_fields[] = {
    boolean("logical_schema"),
    boolean("arrow_ipc_stream"),
    boolean("schema_evolution"),
};
constexpr Message schema{schema_fields};

constexpr Field maintenance_fields[] = {
    boolean("expire_snapshots"),
    boolean("remove_orphan_files"),
    boolean("compact_data_files"),
};
constexpr Message maintenance{maintenance_fields};

constexpr Field limits_fields[] = {
    u64("max_query_rows"),
    u64("max_query_bytes"),
    u64("max_scan_bytes"),
    u64("max_query_micros"),
    u32("max_concurrent_queries"),
    u32("max_schema_fields"),
    u64("max_materialization_file_bytes"),
};
constexpr Message limits{limits_fields};

bool check_readiness(tape::Value descriptor, Error& error) {
  const auto state = descriptor.get("readiness");
  const auto reasons = state.get("reasons").count();
  if (state.get("ready").boolean()) {
    if (reasons > 0) return refuse(error, Rule::readiness_consistency, "readiness.reasons");
    if (number(state.get("observed_at_micros")) == 0)
      return refuse(error, Rule::readiness_consistency, "readiness.observed_at_micros");
    if (descriptor.get("observed_state").text() != "ready")
      return refuse(error, Rule::readiness_consistency, "observed_state");
  } else if (reasons == 0 || reasons > reason_cap) {
    return refuse(error, Rule::readiness_consistency, "readiness.reasons");
  }
  return true;
}

bool check_materialization(tape::Value descriptor, Error& error) {
  const auto list = descriptor.get("materialization");
  const bool distinct = each(list, [&](tape::Value item, std::uint32_t index) {
    return each(list, [&](tape::Value other, std::uint32_t other_index) {
      return other_index >= index || other.get("file_format").text() != item.get("file_format").text() ||
             other.get("table_format").text() != item.get("table_format").text();
    });
  });
  return distinct || refuse(error, Rule::descriptor_repeat, "materialization");
}

bool check_limits(tape::Value descriptor, Error& error) {
  if (!descriptor.get("readiness").get("ready").boolean()) return true;
  const auto caps = descriptor.get("limits");
  const auto needs = [&](const char* key) {
    return number(caps.get(key)) > 0 || refuse(error, Rule::descriptor_limits, std::string_view{key});
  };
  if (descriptor.get("schema").get("logical_schema").boolean() && !needs("max_schema_fields")) return false;
  if (descriptor.get("materialization").count() > 0 && !needs("max_materialization_file_bytes")) return false;
  if (!descriptor.get("query").exists()) return true;
  for (const auto* key :
       {"max_query_rows", "max_query_bytes", "max_scan_bytes", "max_query_micros", "max_concurrent_queries"})
    if (!needs(key)) return false;
  return true;
}

bool check_descriptor(tape::Value descriptor, Error& error) {
  return check_readiness(descriptor, error) && check_materialization(descriptor, error) &&
         check_limits(descriptor, error);
}

constexpr Field descriptor_fields[] = {
    u32("descriptor_version").keeps(Limit::equals, Rule::descriptor_version, 1),
    id("resource_id").nonzero(Rule::descriptor_identity),
    name("mode", modes),
    text("label").label(Rule::descriptor_text, label_cap),
    message("implementation", implementation),
    u64("observed_backend_generation").nonzero(Rule::descriptor_identity),
    u64("runtime_configuration_revision").nonzero(Rule::descriptor_identity),
    name("desired_state", desired_states),
    name("observed_state", observed_states),
    message("readiness", readiness),
    message("materialization", materialization).list(),
    message("query", query).optional(),
    message("schema", schema),
    message("maintenance", maintenance),
    message("limits", limits),
};
constexpr Message descriptor{descriptor_fields, check_descriptor};

constexpr Field filter_fields[] = {
    u32("evaluator_version"),
    name("codecs", codecs).list().unless(),
    u32("max_wait_ms").unless(),
};
constexpr Message filters{filter_fields};

bool check_announce(tape::Value announce, Error& error) {
  const auto backends = announce.get("backends");
  const bool distinct = each(backends, [&](tape::Value item, std::uint32_t index) {
    return each(backends, [&](tape::Value other, std::uint32_t other_index) {
      return other_index >= index || bytes::as_text(other.get("resource_id").bytes()) !=
                                         bytes::as_text(item.get("resource_id").bytes());
    });
  });
  if (!distinct) return refuse(error, Rule::descriptor_repeat, "backends");
  if (!announce.get("ready").boolean() || backends.count() == 0) return true;
  const bool none_ready = each(backends, [](tape::Value item, std::uint32_t) {
    return !item.get("readiness").get("ready").boolean();
  });
  return !none_ready || refuse(error, Rule::announce_readiness, "ready");
}

constexpr Field announce_fields[] = {
    message("versions", versions),
    boolean("ready").unless(1),
    message("backends", descriptor).list().unless(),
    message("topology", wire_topology).optional(),
    message("filters", filters).optional(),
};
constexpr Message announce{announce_fields, check_announce};

constexpr Field hello_fields[] = {message("versions", versions)};
constexpr Message hello{hello_fields};

}  // namespace

constexpr Field backend_announce = message("", announce);
constexpr Field hello_reply = message("", hello);

}  // namespace tidemark::agdx
