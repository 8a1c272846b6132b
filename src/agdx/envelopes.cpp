#include "agdx/envelopes.hpp"

#include "agdx/position.hpp"
#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr Field position_fields[] = {u64("topic_generation"), u32("partition"), u64("offset")};

constexpr Field session_position_fields[] = {
    u32("stream_id"),        u64("stream_generation"), text("topic"),
    u64("topic_generation"), u32("partition_id"),      u64("offset"),
};
constexpr Message session_position{session_position_fields, nullptr, Message::Unknown::refused};

constexpr Field request_fields[] = {
    version(),
    u128("operation_id").nonzero(Rule::operation_id),
    blob("payload"),
};
constexpr Message request{request_fields};

constexpr Field read_fields[] = {
    version(),
    blob("read"),
    message("min_position", mutation_position).optional(),
    boolean("log_head").unless(),
    message("min_sessions", session_position).list().unless(),
};
constexpr Message read{read_fields, nullptr, Message::Unknown::refused_outer};

constexpr Field frontier_fields[] = {
    message("kv", mutation_position).optional(),
    message("fork", mutation_position).optional(),
    message("graph", mutation_position).optional(),
    message("sessions", session_position).list().unless(),
};
constexpr Message frontier{frontier_fields, nullptr, Message::Unknown::refused};

// The version of a reply envelope is read, not checked.
constexpr Field reply_fields[] = {u32("v"), message("frontier", frontier).otherwise(), blob("reply")};
constexpr Message reply{reply_fields, nullptr, Message::Unknown::refused_outer};

}  // namespace

constexpr Message mutation_position{position_fields};
constexpr Field managed_request_envelope = message("", request);
constexpr Field managed_read_envelope = message("", read);
constexpr Field managed_reply_envelope = message("", reply);

}  // namespace tidemark::agdx
