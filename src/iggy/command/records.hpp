#pragma once

#include "iggy/command/field.hpp"

// Records that several replies share.
namespace tidemark::iggy::record {

inline constexpr Field kContext[] = {
    {"incarnation", Kind::u64}, {"owner_generation", Kind::u64}, {"metadata_op", Kind::u64}};

inline constexpr Field kNode[] = {
    {.key = "replica_id", .kind = Kind::u8, .in = In::v12},
    {"name", Kind::text},
    {"ip", Kind::text},
    {"tcp_port", Kind::u16},
    {"quic_port", Kind::u16},
    {"http_port", Kind::u16},
    {"websocket_port", Kind::u16},
    {"role", Kind::u8},
    {"status", Kind::u8},
};

inline constexpr Field kStream[] = {
    {"id", Kind::u32},
    {"created_at", Kind::u64},
    {.key = "topics_count", .kind = Kind::u32, .counts = true},
    {"size_bytes", Kind::u64},
    {"messages_count", Kind::u64},
    {"name", Kind::name},
    {"options", Kind::sized_options},
    {.key = "derived_options", .kind = Kind::sized_options, .in = In::v12},
};

inline constexpr Field kTopic[] = {
    {"id", Kind::u32},
    {"created_at", Kind::u64},
    {.key = "partitions_count", .kind = Kind::u32, .counts = true},
    {.key = "message_expiry", .kind = Kind::u64, .in = In::v11},
    {.key = "compression_algorithm", .kind = Kind::u8, .in = In::v11},
    {.key = "max_topic_size", .kind = Kind::u64, .in = In::v11},
    {"size_bytes", Kind::u64},
    {"messages_count", Kind::u64},
    {"name", Kind::name},
    {"options", Kind::sized_options},
    {"derived_options", Kind::sized_options},
};

inline constexpr Field kPartition[] = {
    {"id", Kind::u32},
    {"created_at", Kind::u64},
    {"segments_count", Kind::u32},
    {"current_offset", Kind::u64},
    {"size_bytes", Kind::u64},
    {"messages_count", Kind::u64},
    {.key = "context", .kind = Kind::map, .nested = kContext, .in = In::v12},
    {.key = "members", .kind = Kind::list_u8, .in = In::v12},
    {.key = "in_sync_members", .kind = Kind::list_u8, .in = In::v12},
};

}  // namespace tidemark::iggy::record
