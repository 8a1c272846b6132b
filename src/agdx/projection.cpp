#include "agdx/projection.hpp"

#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr const char* content_type_list[] = {"any",     "raw",  "json", "avro",  "protobuf",
                                             "msgpack", "cbor", "bson", "arrow", "ref"};
constexpr const char* field_type_list[] = {"text", "int", "float", "bool"};
constexpr Names content_types = names(content_type_list);
constexpr Names field_types = names(field_type_list);

constexpr Field extracted_fields[] = {
    text("name").label(Rule::projection_field),
    text("pointer").label(Rule::projection_field),
    name("field_type", field_types).optional(),
};
constexpr Message extracted{extracted_fields};

constexpr Field extraction_fields[] = {
    message("fields", extracted).list(),
    text("vector_field").optional().label(Rule::projection_field),
    boolean("inline_payload").otherwise(),
};
constexpr Message extraction{extraction_fields};

bool valid_id(std::string_view id) { return is_label(id, 1, 255) && !id.starts_with("index:"); }

bool check_projection(tape::Value value, Error& error) {
  return valid_id(value.get("id").text()) || refuse(error, Rule::projection_id, "id");
}

constexpr Field projection_fields[] = {
    text("id").label(Rule::projection_id),
    text("name").keeps(Limit::label, Rule::projection_field, 0, 255),
    u32("version").otherwise(1),
    u8("kind").unless(),
    name("content_type", content_types).otherwise(),
    message("extraction", extraction),
    any("entity_schema").optional(),
    boolean("inline_payload_default").otherwise(),
};

constexpr Field source_fields[] = {text("stream"), text("topic")};

constexpr Field backend_fields[] = {
    id("resource_id").nonzero(Rule::projection_id),
    u64("generation").nonzero(Rule::projection_id),
};
constexpr Message pinned_backend{backend_fields};

constexpr Field time_to_live_fields[] = {u64("ttl_micros")};
constexpr Message time_to_live_message{time_to_live_fields};
constexpr Field time_to_live = message("", time_to_live_message);
constexpr Field max_rows_fields[] = {u64("rows")};
constexpr Message max_rows_message{max_rows_fields};
constexpr Field max_rows = message("", max_rows_message);
constexpr Variant retention_variants[] = {
    {"mirror_log"},          {"keep"}, {"keep_until_source_deleted"}, {"time_to_live", &time_to_live},
    {"max_rows", &max_rows},
};
constexpr Union retention{retention_variants, Union::Tagging::kind, true};

bool check_binding(tape::Value value, Error& error) {
  const bool allowed = each(value.get("allowed_projections"),
                            [](tape::Value item, std::uint32_t) { return valid_id(item.text()); });
  if (!allowed) return refuse(error, Rule::projection_id, "allowed_projections");
  const auto chosen = value.get("default_projection");
  return chosen.is_null() || valid_id(chosen.text()) ||
         refuse(error, Rule::projection_id, "default_projection");
}

constexpr Field binding_fields[] = {
    message("source", source_topic),
    text("allowed_projections").list().otherwise(),
    text("default_projection").nullable(),
    message("backend", pinned_backend).optional(),
    text("index"),
    boolean("notify").unless(),
    one_of("retention", retention).optional(),
    boolean("skip_rejected").unless(),
};

constexpr Field avro_fields[] = {text("schema")};
constexpr Message avro_message{avro_fields};
constexpr Field avro = message("", avro_message);
constexpr Field protobuf_fields[] = {blob("descriptor_set"), text("message_type")};
constexpr Message protobuf_message{protobuf_fields};
constexpr Field protobuf = message("", protobuf_message);
constexpr Variant source_variants[] = {{"avro", &avro}, {"protobuf", &protobuf}, {"json_schema", &avro}};

constexpr Field schema_fields[] = {
    u32("id"),
    one_of("source", schema_source),
    text("name").optional().label(Rule::field_name),
    u32("version").optional(),
};

}  // namespace

constexpr Message source_topic{source_fields};
constexpr Message projection_message{projection_fields, check_projection};
constexpr Message projection_binding_message{binding_fields, check_binding};
constexpr Union schema_source{source_variants, Union::Tagging::kind, true};
constexpr Message schema_definition{schema_fields};
constexpr Field projection = message("", projection_message);
constexpr Field projection_binding = message("", projection_binding_message);

}  // namespace tidemark::agdx
