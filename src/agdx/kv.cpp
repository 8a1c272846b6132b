#include "agdx/kv.hpp"

#include "agdx/position.hpp"
#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr std::uint32_t key_cap = 512;
constexpr std::uint32_t namespace_cap = 128;
constexpr std::uint32_t value_cap = 8'388'608;
constexpr std::uint32_t holder_cap = 128;
constexpr std::uint32_t scan_cap = 1000;
constexpr std::uint32_t ttl_floor = 1'000'000;
constexpr std::uint32_t ttl_cap = 300'000'000;

constexpr Row space(const char* name) {
  return text(name).keeps(Limit::ascii_label, Rule::kv_namespace, 1, namespace_cap);
}
constexpr Row key_of(const char* name) { return blob(name).keeps(Limit::length, Rule::kv_key, 1, key_cap); }
constexpr Row value_of(const char* name) {
  return blob(name).keeps(Limit::length, Rule::value_too_large, 0, value_cap);
}
constexpr Row token() { return u64("lease_token").nonzero(Rule::lease_token); }
constexpr Row ttl() {
  return u64("lease_ttl_micros").keeps(Limit::range, Rule::lease_ttl, ttl_floor, ttl_cap);
}
constexpr Row holder() { return text("holder_id").label(Rule::lease_holder, holder_cap); }

constexpr Field session_fields[] = {text("stream"), id("session")};
constexpr Message session_ref{session_fields};
constexpr Row session() { return message("session", session_ref).optional(); }

constexpr Field match_value = u64("");
constexpr Variant expect_variants[] = {{"Absent"}, {"Match", &match_value}};
constexpr Union expectation{expect_variants};

constexpr Field get_fields[] = {
    version(),
    space("namespace"),
    key_of("key"),
    u64("if_none_match").optional(),
    message("min_position", mutation_position).optional(),
};
constexpr Message get{get_fields};

constexpr Field set_fields[] = {
    version(),     space("namespace"), session(),
    key_of("key"), value_of("value"),  u64("expires_at_micros").optional(),
};
constexpr Message set{set_fields};

constexpr Field cas_fields[] = {
    version(),
    space("namespace"),
    session(),
    key_of("key"),
    value_of("value"),
    u64("expires_at_micros").optional(),
    one_of("expect", expectation),
};
constexpr Message cas{cas_fields};

constexpr Field cas_fenced_fields[] = {
    version(),
    space("namespace"),
    key_of("key"),
    value_of("value"),
    u64("expires_at_micros").optional(),
    one_of("expect", expectation),
    space("fence_namespace"),
    key_of("fence_key"),
    u64("fence_token").nonzero(Rule::lease_token),
};
constexpr Message cas_fenced{cas_fenced_fields};

constexpr Field delete_fields[] = {version(), space("namespace"), session(), key_of("key"),
                                   u64("if_match").optional()};
constexpr Message delete_one{delete_fields};

constexpr Field delete_many_fields[] = {
    version(),
    space("namespace"),
    blob("prefix").optional(),
    blob("start").optional(),
    blob("end").optional(),
    text("key_contains").optional(),
    text("conversation").optional(),
    text("stream").optional(),
};
constexpr Message delete_many{delete_many_fields};

constexpr Field exists_fields[] = {version(), space("namespace"), key_of("key")};
constexpr Message exists{exists_fields};

constexpr Field expire_fields[] = {
    version(),
    space("namespace"),
    key_of("key"),
    u64("expires_at_micros").optional(),
};
constexpr Message expire{expire_fields};

constexpr Field patch_fields[] = {
    version(), space("namespace"), session(), key_of("key"), value_of("patch"), u64("if_match").optional(),
};
constexpr Message patch{patch_fields};

constexpr Field copy_fields[] = {
    version(), space("namespace"), key_of("key"), space("to_namespace").optional(), key_of("to_key"),
};
constexpr Message copy{copy_fields};

constexpr Field scan_fields[] = {
    version(),
    space("namespace"),
    blob("prefix").optional(),
    blob("start").optional(),
    blob("end").optional(),
    text("key_contains").optional(),
    text("conversation").optional(),
    text("stream").optional(),
    u64("limit").keeps(Limit::range, Rule::scan_limit, 0, scan_cap),
    blob("cursor").optional(),
};
constexpr Message scan{scan_fields};

constexpr Field namespaces_fields[] = {version()};
constexpr Message namespaces{namespaces_fields};

constexpr Field lease_fields[] = {
    version(), space("namespace"), key_of("key"), ttl(), holder(), u32("subject_user_id").optional(),
};
constexpr Message lease{lease_fields};

constexpr Field renew_fields[] = {
    version(), space("namespace"), key_of("key"), holder(), u32("subject_user_id").optional(), token(), ttl(),
};
constexpr Message renew{renew_fields};

constexpr Field release_fields[] = {version(), space("namespace"), key_of("key"), token(), holder()};
constexpr Message release{release_fields};

constexpr Field entry_fields[] = {
    blob("key"),
    blob("value"),
    u64("expires_at_micros").optional(),
    u64("version").unless(),
    any("scope").optional(),
    any("source").optional(),
};
constexpr Message entry{entry_fields};

constexpr Field version_fields[] = {u64("version")};
constexpr Message version_message{version_fields};
constexpr Field page_fields[] = {message("entries", entry).list(), blob("cursor").optional()};
constexpr Message page_message{page_fields};
constexpr Field namespace_fields[] = {text("namespace"), u64("entries")};
constexpr Message namespace_message{namespace_fields};
constexpr Field metadata_fields[] = {u64("version"), u64("expires_at_micros").optional(), u64("size_bytes")};
constexpr Message metadata_message{metadata_fields};
constexpr Field granted_fields[] = {
    u64("lease_token"),
    u64("granted_ttl_micros"),
    message("position", mutation_position),
};
constexpr Message granted_message{granted_fields};

constexpr Field value_outcome = message("", entry).nullable();
constexpr Field versioned = message("", version_message);
constexpr Field flag = boolean("");
constexpr Field count = u64("");
constexpr Field page = message("", page_message);
constexpr Field namespace_list = message("", namespace_message).list();
constexpr Field metadata = message("", metadata_message).nullable();
constexpr Field granted = message("", granted_message);
constexpr Variant outcome_variants[] = {
    {"Value", &value_outcome},
    {"NotModified"},
    {"Written"},
    {"Committed", &versioned},
    {"Deleted", &flag},
    {"DeletedMany", &count},
    {"Page", &page},
    {"Namespaces", &namespace_list},
    {"Metadata", &metadata},
    {"Versioned", &versioned},
    {"Leased", &granted},
    {"Renewed", &granted},
    {"Released", &flag},
};
constexpr Union outcome{outcome_variants};

constexpr Field text_value = text("");
constexpr Field too_large_fields[] = {text("what"), u64("size"), u64("cap")};
constexpr Message too_large_message{too_large_fields};
constexpr Field too_large = message("", too_large_message);
constexpr Field skew_fields[] = {u32("expected"), u32("got")};
constexpr Message skew_message{skew_fields};
constexpr Field skew = message("", skew_message);
constexpr Field conflict_fields[] = {u64("current").nullable()};
constexpr Message conflict_message{conflict_fields};
constexpr Field conflict = message("", conflict_message);
constexpr Field stale_fields[] = {message("required", mutation_position)};
constexpr Message stale_message{stale_fields};
constexpr Field stale = message("", stale_message);
constexpr Variant error_variants[] = {
    {"Unsupported", &text_value},
    {"InvalidKey", &text_value},
    {"InvalidNamespace", &text_value},
    {"TooLarge", &too_large},
    {"Backend", &text_value},
    {"Unavailable", &text_value},
    {"Version", &skew},
    {"VersionConflict", &conflict},
    {"LeaseLost"},
    {"Stale", &stale},
    {"NotFound"},
    {"NotLeader"},
};
constexpr Union errors{error_variants};

constexpr Field outcome_value = one_of("", outcome);
constexpr Field error_value = one_of("", errors);
constexpr Variant reply_variants[] = {{"Ok", &outcome_value}, {"Err", &error_value}};
constexpr Union reply{reply_variants};

}  // namespace

constexpr Field kv_get = message("", get);
constexpr Field kv_set = message("", set);
constexpr Field kv_cas = message("", cas);
constexpr Field kv_cas_fenced = message("", cas_fenced);
constexpr Field kv_delete = message("", delete_one);
constexpr Field kv_delete_many = message("", delete_many);
constexpr Field kv_exists = message("", exists);
constexpr Field kv_expire = message("", expire);
constexpr Field kv_patch = message("", patch);
constexpr Field kv_copy = message("", copy);
constexpr Field kv_move = message("", copy);
constexpr Field kv_scan = message("", scan);
constexpr Field kv_namespaces = message("", namespaces);
constexpr Field kv_lease = message("", lease);
constexpr Field kv_lease_renew = message("", renew);
constexpr Field kv_release = message("", release);
constexpr Field kv_entry = message("", entry);
constexpr Field kv_reply = one_of("", reply);

}  // namespace tidemark::agdx
