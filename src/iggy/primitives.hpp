#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bytes/reader.hpp"
#include "bytes/writer.hpp"

// The small pieces that request and reply bodies are made of: section 7 of the protocol text. Readers fail
// the cursor they are given; writers trust their arguments where a caller checked them, and say so.
namespace tidemark::iggy {

// A stream, topic, consumer or group. A numeric id and a name that consists of digits are different things.
struct Identifier {
  std::optional<std::uint32_t> number;  // wins over `name`
  std::string_view name;                // 1-255 bytes

  static Identifier numeric(std::uint32_t id) { return {id, {}}; }
  static Identifier named(std::string_view name) { return {std::nullopt, name}; }
};

enum class ConsumerKind : std::uint8_t { consumer = 1, group = 2, external_group = 3 };

struct Consumer {
  ConsumerKind kind = ConsumerKind::consumer;
  Identifier id;
};

enum class StrategyKind : std::uint8_t { offset = 1, timestamp = 2, first = 3, last = 4, next = 5 };

struct Strategy {
  StrategyKind kind = StrategyKind::offset;
  std::uint64_t value = 0;
};

enum class PartitioningKind : std::uint8_t { balanced = 1, partition_id = 2, messages_key = 3 };

struct Partitioning {
  PartitioningKind kind = PartitioningKind::balanced;
  std::uint32_t partition_id = 0;
  std::span<const std::uint8_t> key;  // 1-255 bytes
};

// False when a name is not 1-255 bytes of UTF-8; nothing is written then.
bool write_name(std::string_view name, bytes::Writer& out);
bool write_identifier(const Identifier& id, bytes::Writer& out);
bool write_consumer(const Consumer& consumer, bytes::Writer& out);
bool write_partitioning(const Partitioning& partitioning, bytes::Writer& out);
void write_strategy(const Strategy& strategy, bytes::Writer& out);
void write_optional_partition(std::optional<std::uint32_t> partition, bytes::Writer& out);

std::string_view read_name(bytes::Reader& in);                      // name_length, invalid_utf8
std::string_view read_text(bytes::Reader& in, std::size_t length);  // invalid_utf8
Identifier read_identifier(bytes::Reader& in);                      // identifier_kind, identifier_length
Consumer read_consumer(bytes::Reader& in, bool allow_external);     // consumer_kind
Strategy read_strategy(bytes::Reader& in);                          // strategy_kind
Partitioning read_partitioning(bytes::Reader& in);                  // partitioning
std::optional<std::uint32_t> read_optional_partition(bytes::Reader& in);

bool is_utf8(std::string_view text);

// One field of a header block: user headers of a message, options of a stream or topic.
struct HeaderField {
  std::uint8_t kind = 0;
  std::span<const std::uint8_t> data;
};
struct HeaderEntry {
  HeaderField key;
  HeaderField value;
};

namespace header_kind {
inline constexpr std::uint8_t kRaw = 1;
inline constexpr std::uint8_t kString = 2;
inline constexpr std::uint8_t kBool = 3;
inline constexpr std::uint8_t kUint8 = 9;
inline constexpr std::uint8_t kUint32 = 11;
inline constexpr std::uint8_t kUint64 = 12;
}  // namespace header_kind

// False when kind or length of a field is out of range; nothing is written then.
bool write_header_entry(const HeaderEntry& entry, bytes::Writer& out);

// Walks a block to its end. Fails the cursor with header_block where the block breaks the rules; kinds that
// are not known are kept, not refused.
class HeaderBlockReader {
 public:
  explicit HeaderBlockReader(std::span<const std::uint8_t> block) : in_(block) {}
  bool next(HeaderEntry& out);
  const Error& error() const { return in_.error(); }

 private:
  HeaderField field();
  bytes::Reader in_;
};

// --- Bodies that are built without a tape, since readers and publishers send them all the time
// ----------------------

struct Poll {
  Consumer consumer;
  Identifier stream;
  Identifier topic;
  std::optional<std::uint32_t> partition;
  Strategy strategy;
  std::uint32_t count = 0;  // most messages wanted
  bool auto_commit = false;
};
bool write_poll(const Poll& poll, bytes::Writer& out);

// Everything of a send body but the batch, which encode_batch() appends after it.
bool write_send_prefix(const Identifier& stream, const Identifier& topic, const Partitioning& partitioning,
                       std::uint32_t count, bytes::Writer& out);

// Body of get stream, get topic and the like: one identifier after the other.
bool write_identifiers(std::span<const Identifier> ids, bytes::Writer& out);

}  // namespace tidemark::iggy
