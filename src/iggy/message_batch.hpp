#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bytes/error.hpp"
#include "bytes/reader.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "iggy/protocol_version.hpp"

namespace tidemark::iggy {

inline constexpr std::size_t kBatchHeaderSize = 256;
inline constexpr std::size_t kMessageHeaderSize = 48;

// --- Sending
// -------------------------------------------------------------------------------------------------------

struct OutgoingMessage {
  tape::U128 id;                       // 0 is accepted by servers; draw a random one instead
  std::uint64_t timestamp_micros = 0;  // the producer's own time
  std::span<const std::uint8_t> payload;
  std::span<const std::uint8_t> headers;  // an encoded header block, or empty
};

// Identity of a producer whose repeats the server recognises beyond one session. V12 only.
struct Producer {
  std::uint64_t id = 0;             // at most 2^63 - 1
  std::uint16_t epoch = 0;          // at most 2^15 - 1
  std::uint32_t base_sequence = 0;  // at most 2^31 - 1
};

// Appends one batch in the producer's form, both checksums computed. Refuses an empty batch (batch_empty),
// timestamps that lie more than 2^32 - 1 micros apart (timestamp_spread), payload and headers over the limits
// of the protocol (message_too_large) and a producer where the dialect has none (producer_section). Nothing
// is appended on refusal.
Error encode_batch(std::span<const OutgoingMessage> messages, Dialect dialect, bytes::Buffer& out,
                   const Producer* producer = nullptr);

// --- Reading
// -------------------------------------------------------------------------------------------------------

struct BatchHeader {
  std::uint64_t partition_id = 0;
  std::uint64_t base_offset = 0;  // of the stored batch, also when this is a slice of it
  std::uint64_t base_timestamp = 0;
  std::uint64_t origin_timestamp = 0;
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
  std::uint32_t count = 0;
  bool has_producer = false;
  Producer producer;
};

struct BatchMessage {
  std::uint64_t checksum = 0;
  tape::U128 id;
  std::uint32_t offset_delta = 0;
  std::uint32_t timestamp_delta = 0;
  std::span<const std::uint8_t> payload;
  std::span<const std::uint8_t> headers;
  std::uint64_t offset = 0;
  std::uint64_t origin_timestamp = 0;
};

// One batch at the front of `input`, which may hold more after it. The frames are walked and, when asked,
// both checksums and the reserved bytes verified before the first message is handed out: a batch is read
// whole or refused whole. Errors: truncated, batch_length, batch_empty, batch_reserved, producer_section,
// count_mismatch, message_offset_delta, batch_checksum, message_checksum.
class BatchReader {
 public:
  BatchReader() = default;
  BatchReader(std::span<const std::uint8_t> input, Dialect dialect, bool verify = true);

  const BatchHeader& header() const { return header_; }
  bool next(BatchMessage& out);
  const Error& error() const { return error_; }
  // Bytes of `input` that the batch takes; 0 when it was refused.
  std::size_t size() const { return size_; }

 private:
  void read_header(std::span<const std::uint8_t> input, Dialect dialect, bool verify);
  void check_frames(std::span<const std::uint8_t> input, bool verify);
  void fail(Rule rule, std::size_t position);

  BatchHeader header_;
  std::span<const std::uint8_t> frames_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  Error error_;
};

struct PollContext {  // V12: what guards the next call on the same partition
  std::uint64_t incarnation = 0;
  std::uint64_t owner_generation = 0;
  std::uint64_t metadata_op = 0;
};

struct PolledMessage {
  std::uint64_t offset = 0;
  std::uint64_t timestamp_micros = 0;         // when the server stored it
  std::uint64_t origin_timestamp_micros = 0;  // when the producer made it
  tape::U128 id;
  std::span<const std::uint8_t> payload;
  std::span<const std::uint8_t> headers;  // raw: blocks written by others may not parse
};

inline constexpr std::uint32_t kStaleAssignment =
    0xFFFFFFFF;  // partition id: sync the group, then poll again

// The body of a poll reply (commands 100, 104, 106), read in place: spans point into `body`.
class PollReply {
 public:
  PollReply(std::span<const std::uint8_t> body, Dialect dialect, bool verify = true);

  std::uint32_t partition_id() const { return partition_id_; }
  std::uint64_t current_offset() const {
    return current_offset_;
  }  // last committed; 0 when the partition is empty
  std::uint32_t count() const { return count_; }
  const PollContext& context() const { return context_; }

  // False at the end or on error. The messages before a broken batch are handed out.
  bool next(PolledMessage& out);
  // The same walk by whole batches, for whoever needs the batch headers. Do not mix with next().
  bool next_batch(BatchReader& out);
  const Error& error() const { return error_; }

 private:
  friend class FetchReply;
  explicit PollReply(bytes::Reader& section);

  std::span<const std::uint8_t> body_;
  std::size_t at_ = 0;
  Dialect dialect_;
  bool verify_;
  std::uint32_t partition_id_ = 0;
  std::uint64_t current_offset_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t seen_ = 0;
  PollContext context_;
  BatchReader batch_;
  Error error_;
};

// The body of a fetch reply (command 109, V12): a poll reply for each partition that was asked for.
class FetchReply {
 public:
  explicit FetchReply(std::span<const std::uint8_t> body);

  // Nothing at the end or on error. `status`: 0, or the error code of this partition.
  std::optional<PollReply> next(std::uint32_t& status);
  const Error& error() const { return records_.error(); }

 private:
  bytes::Reader sections_;
  bytes::Reader records_;
};

}  // namespace tidemark::iggy
