#include "agdx/browse.hpp"

#include "agdx/projection.hpp"
#include "agdx/query_control.hpp"
#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr Field get_projection_fields[] = {version(), text("id")};
constexpr Message get_projection_message{get_projection_fields};

constexpr Field list_projections_fields[] = {
    version(),
    text("topics").list().unless(),
    text("name_contains").optional(),
    text("id_prefix").optional(),
    text("search").optional(),
};
constexpr Message list_projections_message{list_projections_fields};

constexpr Field get_schema_fields[] = {version(), u32("id"), text("stream").optional()};
constexpr Message get_schema_message{get_schema_fields};

constexpr Field list_schemas_fields[] = {version(), text("name_contains").optional(),
                                         text("stream").optional()};
constexpr Message list_schemas_message{list_schemas_fields};

constexpr Field register_fields[] = {
    version(),
    one_of("source", schema_source),
    text("name").optional().label(Rule::field_name),
    u32("version").optional(),
    text("stream").optional(),
};
constexpr Message register_message{register_fields};

constexpr Field decode_fields[] = {version(), u32("id"), blob("payload"), text("stream").optional()};
constexpr Message decode_message{decode_fields};

constexpr Field projection_info_fields[] = {
    message("projection", projection_message),
    message("bindings", projection_binding_message).list().unless(),
};
constexpr Message projection_info{projection_info_fields};
constexpr Field schema_info_fields[] = {message("schema", schema_definition), boolean("dropped").otherwise()};
constexpr Message schema_info{schema_info_fields};

constexpr Field projections = message("", projection_info).list();
constexpr Field one_projection = message("", projection_info).nullable();
constexpr Field schemas = message("", schema_info).list();
constexpr Field one_schema = message("", schema_info).nullable();
constexpr Field registered = u32("");
constexpr Field decoded = any("").nullable();
constexpr Variant outcome_variants[] = {
    {"Projections", &projections}, {"Projection", &one_projection},   {"Schemas", &schemas},
    {"Schema", &one_schema},       {"SchemaRegistered", &registered}, {"Decoded", &decoded},
};
constexpr Union outcome{outcome_variants};
constexpr Field outcome_value = one_of("", outcome);
constexpr Field error_value = one_of("", query_error);
constexpr Variant reply_variants[] = {{"Ok", &outcome_value}, {"Err", &error_value}};
constexpr Union reply{reply_variants};

}  // namespace

constexpr Field get_projection = message("", get_projection_message);
constexpr Field list_projections = message("", list_projections_message);
constexpr Field get_schema = message("", get_schema_message);
constexpr Field list_schemas = message("", list_schemas_message);
constexpr Field register_schema = message("", register_message);
constexpr Field decode_record = message("", decode_message);
constexpr Field browse_reply = one_of("", reply);

}  // namespace tidemark::agdx
