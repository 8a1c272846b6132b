#include "agdx/control.hpp"

#include "agdx/projection.hpp"
#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr Field projection_value = message("", projection_message);
constexpr Field binding_value = message("", projection_binding_message);
constexpr Field schema_value = message("", schema_definition);
constexpr Field text_value = text("");
constexpr Field u32_value = u32("");
// Only servers write these two: carried as they are.
constexpr Field opaque_value = any("");

constexpr Field remove_fields[] = {message("source", source_topic), text("projection_ref").nullable()};
constexpr Message remove_message{remove_fields};
constexpr Field remove_value = message("", remove_message);

constexpr Field session_fields[] = {text("stream"), any("topics")};
constexpr Message session_message{session_fields};
constexpr Field session_value = message("", session_message);
constexpr Field drop_session_fields[] = {text("stream")};
constexpr Message drop_session_message{drop_session_fields};
constexpr Field drop_session_value = message("", drop_session_message);

constexpr Field skip_fields[] = {
    message("source", source_topic),
    u32("partition_id"),
    u64("topic_created_at_micros"),
    u64("offset"),
    text("target"),
    text("reason"),
};
constexpr Message skip_message{skip_fields};
constexpr Field skip_value = message("", skip_message);

constexpr Variant command_variants[] = {
    {"RegisterProjection", &projection_value},
    {"DropProjection", &text_value},
    {"ApplyBinding", &binding_value},
    {"RemoveBinding", &remove_value},
    {"RegisterSchema", &schema_value},
    {"DropSchema", &u32_value},
    {"RegisterGraph", &projection_value},
    {"DropGraph", &text_value},
    {"RegisterSessionSource", &session_value},
    {"RemoveSessionSource", &drop_session_value},
    {"FilterCatalog", &opaque_value},
    {"AcceptGap", &opaque_value},
    {"SkipRecord", &skip_value},
};
constexpr Union commands{command_variants};

constexpr Field generation_fields[] = {u32("stream_id"), u64("created_at_micros")};
constexpr Message stream_generation{generation_fields};
constexpr Field stamp_fields[] = {
    u32("deployment_id"), u32("actor_user_id"),
    u128("operation_id"), message("stream_generation", stream_generation).optional(),
    u32("key_id"),
};
constexpr Message stamp{stamp_fields};

constexpr std::uint64_t graph_kind = 1;

// A graph projection is registered as a graph, and nothing else is.
bool check_envelope(tape::Value value, Error& error) {
  const auto command = value.get("command").first();
  const auto kind = number(command.next().get("kind"));
  if (command.text() == "RegisterProjection" && kind == graph_kind)
    return refuse(error, Rule::projection_id, "command.RegisterProjection.kind");
  if (command.text() == "RegisterGraph" && kind != graph_kind)
    return refuse(error, Rule::projection_id, "command.RegisterGraph.kind");
  return true;
}

constexpr Field envelope_fields[] = {
    version(),
    u64("timestamp_micros"),
    one_of("command", commands),
    text("stream").optional(),
    message("stamp", stamp).optional(),
};
constexpr Message envelope{envelope_fields, check_envelope};

}  // namespace

constexpr Field control_envelope = message("", envelope);

}  // namespace tidemark::agdx
