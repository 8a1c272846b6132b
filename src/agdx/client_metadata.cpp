#include "agdx/client_metadata.hpp"

#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr Field query_fields[] = {
    version(),
    boolean("with_metadata_only").unless(),
    u32("user_id").optional(),
    u32("after_client_id").optional(),
    u32("limit"),
};
constexpr Message query{query_fields};

constexpr Field client_fields[] = {
    u32("client_id"), u32("user_id").optional(),    u8("transport"),
    text("address"),  u32("consumer_groups_count"), blob("metadata").optional(),
};
constexpr Message client{client_fields};
constexpr Field list_fields[] = {message("clients", client).list(), u32("next_cursor").optional()};
constexpr Message list{list_fields};

}  // namespace

constexpr Field client_metadata_query = message("", query);
constexpr Field client_metadata_list = message("", list);

}  // namespace tidemark::agdx
