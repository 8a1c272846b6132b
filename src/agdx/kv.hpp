#pragma once

#include "agdx/message.hpp"

// Key-value and fenced leases, sections 14 and 15 of the contract.
namespace tidemark::agdx {

extern const Field kv_get;
extern const Field kv_set;
extern const Field kv_cas;
extern const Field kv_cas_fenced;
extern const Field kv_delete;
extern const Field kv_delete_many;
extern const Field kv_exists;
extern const Field kv_expire;
extern const Field kv_patch;
extern const Field kv_copy;
extern const Field kv_move;
extern const Field kv_scan;
extern const Field kv_namespaces;
extern const Field kv_lease;
extern const Field kv_lease_renew;
extern const Field kv_release;
extern const Field kv_entry;
extern const Field kv_reply;

}  // namespace tidemark::agdx
