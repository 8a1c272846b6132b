#pragma once

#include "iggy/command/field.hpp"

// Message batches as tape values: for calls by hand and for golden files. Readers and publishers go past
// this, through message_batch.hpp.
namespace tidemark::iggy {

// Send body: stream_id, topic_id, partitioning, batch {producer, messages [{id, origin_timestamp, payload,
// user_headers}]}. user_headers is a list of {key_kind, key, value_kind, value}, or the encoded block as
// bytes.
extern const Custom kSendBody;
// Poll reply: partition_id, current_offset, messages_count, V12's context, batches.
extern const Custom kPollReply;
// Fetch reply: sections, each with its own batches.
extern const Custom kFetchReply;

// One batch to a map; the reader stands at its start and is left behind it. Returns the count of its
// messages.
std::uint32_t decode_batch(bytes::Reader& in, Dialect dialect, tape::Writer& out);
// The raw bytes when the block does not parse: user headers written by others may not.
void decode_header_block(std::span<const std::uint8_t> block, tape::Writer& out);

}  // namespace tidemark::iggy
