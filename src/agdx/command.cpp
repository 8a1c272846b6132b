#include "agdx/command.hpp"

#include "agdx/batch.hpp"
#include "agdx/browse.hpp"
#include "agdx/client_metadata.hpp"
#include "agdx/command_error.hpp"
#include "agdx/control.hpp"
#include "agdx/hello.hpp"
#include "agdx/kv.hpp"
#include "agdx/query_control.hpp"

namespace tidemark::agdx {

namespace {

constexpr const char* fenced_leases = "kv.fenced_leases";

constexpr Command commands[] = {
    {command::hello, Wrap::bare, Retry::read, "hello", "", "", nullptr, &backend_announce},
    {command::set_client_metadata, Wrap::bare, Retry::never, "client_metadata"},
    {command::get_clients_metadata, Wrap::bare, Retry::read, "client_metadata", "managed", "",
     &client_metadata_query, &client_metadata_list},
    {command::batch, Wrap::mutation, Retry::same_bytes, "batch", "managed", "", &batch_request, &batch_reply},
    {command::control_publish, Wrap::mutation, Retry::same_bytes, "control", "managed", "control",
     &control_envelope, &command_error},
    {command::query, Wrap::bare, Retry::read, "query", "query.available", "query"},
    {command::query_page, Wrap::bare, Retry::read, "query", "query.cursor_paging", "query",
     &query_page_envelope},
    {command::query_cancel, Wrap::bare, Retry::read, "query", "query.cancellation", "query",
     &query_cancel_envelope, &query_status_reply},
    {command::query_status, Wrap::bare, Retry::read, "query", "query.execution_status", "query",
     &query_status_envelope, &query_status_reply},
    {command::get_projection, Wrap::bare, Retry::read, "browse", "managed", "query", &get_projection,
     &browse_reply, "Projection"},
    {command::list_projections, Wrap::bare, Retry::read, "browse", "managed", "query", &list_projections,
     &browse_reply, "Projections"},
    {command::get_schema, Wrap::bare, Retry::read, "browse", "managed", "query", &get_schema, &browse_reply,
     "Schema"},
    {command::list_schemas, Wrap::bare, Retry::read, "browse", "managed", "query", &list_schemas,
     &browse_reply, "Schemas"},
    {command::register_schema, Wrap::bare, Retry::never, "browse", "managed", "query", &register_schema,
     &browse_reply, "SchemaRegistered"},
    {command::decode_record, Wrap::bare, Retry::read, "browse", "managed", "query", &decode_record,
     &browse_reply, "Decoded"},
    {command::kv_get, Wrap::read, Retry::read, "kv", "kv.available", "kv", &kv_get, &kv_reply,
     "Value NotModified"},
    {command::kv_set, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_set, &kv_reply,
     "Written"},
    {command::kv_scan, Wrap::read, Retry::read, "kv", "kv.available", "kv", &kv_scan, &kv_reply, "Page"},
    {command::kv_delete, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_delete, &kv_reply,
     "Deleted"},
    {command::kv_delete_many, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_delete_many,
     &kv_reply, "DeletedMany"},
    {command::kv_namespaces, Wrap::read, Retry::read, "kv", "kv.available", "kv", &kv_namespaces, &kv_reply,
     "Namespaces"},
    {command::kv_cas, Wrap::mutation, Retry::same_bytes, "kv", "kv.cas", "kv", &kv_cas, &kv_reply,
     "Committed"},
    {command::kv_exists, Wrap::read, Retry::read, "kv", "kv.available", "kv", &kv_exists, &kv_reply,
     "Metadata"},
    {command::kv_expire, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_expire, &kv_reply,
     "Versioned"},
    {command::kv_patch, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_patch, &kv_reply,
     "Versioned"},
    {command::kv_lease, Wrap::mutation, Retry::never, "kv", fenced_leases, "kv", &kv_lease, &kv_reply,
     "Leased"},
    {command::kv_release, Wrap::mutation, Retry::same_bytes, "kv", fenced_leases, "kv", &kv_release,
     &kv_reply, "Released"},
    {command::kv_cas_fenced, Wrap::mutation, Retry::same_bytes, "kv", fenced_leases, "kv", &kv_cas_fenced,
     &kv_reply, "Committed"},
    {command::kv_copy, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_copy, &kv_reply,
     "Committed"},
    {command::kv_move, Wrap::mutation, Retry::same_bytes, "kv", "kv.available", "kv", &kv_move, &kv_reply,
     "Committed"},
    {command::kv_lease_renew, Wrap::mutation, Retry::same_bytes, "kv", fenced_leases, "kv", &kv_lease_renew,
     &kv_reply, "Renewed"},
};

bool is_on(tape::Value capabilities, std::string_view path) {
  auto value = capabilities;
  while (!path.empty()) {
    const auto dot = path.find('.');
    value = value.get(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return value.boolean();
}

bool reads_at_position(std::span<const std::uint8_t> payload) {
  bytes::Buffer tape;
  if (decode(kv_get, payload, tape)) return false;
  return tape::Value{tape}.get("min_position").is(tape::Tag::map);
}

bool needs_fenced_leases(const Command& command, tape::Value request) {
  if (command.code == command::kv_get) return request.get("min_position").is(tape::Tag::map);
  if (command.code != command::batch) return false;
  return !each(request.get("ops"), [](tape::Value op, std::uint32_t) {
    const auto code = static_cast<std::uint32_t>(number(op.get("code")));
    if (code == command::kv_get) return !reads_at_position(op.get("payload").bytes());
    const auto* inner = find_command(code);
    return inner == nullptr || std::string_view{inner->capability} != fenced_leases;
  });
}

}  // namespace

const Command* find_command(std::uint32_t code) {
  for (const auto& entry : commands)
    if (entry.code == code) return &entry;
  return nullptr;
}

const Field* request_message(std::uint32_t code) {
  const auto* found = find_command(code);
  return found == nullptr ? nullptr : found->request;
}

const Field* reply_message(std::uint32_t code) {
  const auto* found = find_command(code);
  return found == nullptr ? nullptr : found->reply;
}

Unsupported gate(const Command& command, tape::Value request, tape::Value capabilities) {
  if (*command.capability != 0 && !is_on(capabilities, command.capability))
    return {command.surface, command.capability};
  if (needs_fenced_leases(command, request) && !is_on(capabilities, fenced_leases))
    return {command.surface, fenced_leases};
  if (*command.version == 0) return {};
  const auto advertised = number(capabilities.get("versions").get(command.version));
  if (advertised <= 1) return {};
  return {command.surface, "version", static_cast<std::uint32_t>(advertised)};
}

}  // namespace tidemark::agdx
