#include "agdx_messages.hpp"

#include "agdx/batch.hpp"
#include "agdx/browse.hpp"
#include "agdx/client_metadata.hpp"
#include "agdx/command_error.hpp"
#include "agdx/control.hpp"
#include "agdx/envelopes.hpp"
#include "agdx/hello.hpp"
#include "agdx/kv.hpp"
#include "agdx/projection.hpp"
#include "agdx/query_control.hpp"
#include "agdx/query_request.hpp"
#include "agdx/table.hpp"

namespace vectors {

namespace agdx = tidemark::agdx;

const agdx::Field* find_message(std::string_view name) {
  struct Entry {
    std::string_view name;
    const agdx::Field* type;
  };
  static const agdx::Field query_target = agdx::table::one_of("", agdx::query_target);
  static const agdx::Field query_errors = agdx::table::one_of("", agdx::query_error).list();
  static const Entry entries[] = {
      {"QueryEnvelope", &agdx::query_envelope},
      {"QueryTarget", &query_target},
      {"array of QueryError", &query_errors},
      {"ManagedRequestEnvelope", &agdx::managed_request_envelope},
      {"ManagedReadEnvelope", &agdx::managed_read_envelope},
      {"ManagedReplyEnvelope", &agdx::managed_reply_envelope},
      {"BackendAnnounce", &agdx::backend_announce},
      {"HelloReply", &agdx::hello_reply},
      {"CommandError", &agdx::command_error},
      {"ControlEnvelope", &agdx::control_envelope},
      {"Projection", &agdx::projection},
      {"ProjectionBinding", &agdx::projection_binding},
      {"GetProjection", &agdx::get_projection},
      {"ListProjections", &agdx::list_projections},
      {"GetSchema", &agdx::get_schema},
      {"ListSchemas", &agdx::list_schemas},
      {"RegisterSchema", &agdx::register_schema},
      {"DecodeRecord", &agdx::decode_record},
      {"BrowseReply", &agdx::browse_reply},
      {"QueryPageEnvelope", &agdx::query_page_envelope},
      {"QueryCancelEnvelope", &agdx::query_cancel_envelope},
      {"QueryStatusEnvelope", &agdx::query_status_envelope},
      {"QueryExecutionStatus", &agdx::query_execution_status},
      {"QueryStatusReply", &agdx::query_status_reply},
      {"QueryCancelReply", &agdx::query_status_reply},
      {"KvGet", &agdx::kv_get},
      {"KvSet", &agdx::kv_set},
      {"KvCas", &agdx::kv_cas},
      {"KvCasFenced", &agdx::kv_cas_fenced},
      {"KvDelete", &agdx::kv_delete},
      {"KvDeleteMany", &agdx::kv_delete_many},
      {"KvExists", &agdx::kv_exists},
      {"KvExpire", &agdx::kv_expire},
      {"KvPatch", &agdx::kv_patch},
      {"KvCopy", &agdx::kv_copy},
      {"KvMove", &agdx::kv_move},
      {"KvScan", &agdx::kv_scan},
      {"KvNamespaces", &agdx::kv_namespaces},
      {"KvLease", &agdx::kv_lease},
      {"KvLeaseRenew", &agdx::kv_lease_renew},
      {"KvRelease", &agdx::kv_release},
      {"KvEntry", &agdx::kv_entry},
      {"KvReply", &agdx::kv_reply},
      {"BatchRequest", &agdx::batch_request},
      {"BatchReply", &agdx::batch_reply},
      {"ClientMetadataQuery", &agdx::client_metadata_query},
      {"ClientMetadataList", &agdx::client_metadata_list},
  };
  for (const auto& entry : entries)
    if (entry.name == name) return entry.type;
  return nullptr;
}

}  // namespace vectors
