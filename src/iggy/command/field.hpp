#pragma once

#include <cstdint>

#include "bytes/reader.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "iggy/protocol_version.hpp"

// A body is described once, as a list of fields; encoder and decoder walk the same list.
namespace tidemark::iggy {

enum class Kind : std::uint8_t {
  u8,
  u16,
  u32,
  u64,
  u128,
  f32,
  flag,          // u8, 0 or 1
  version,       // u32, the dialect's own number when absent
  name,          // u8 length 1-255, UTF-8
  secret_text,   // u8 length, UTF-8, may be empty
  text,          // u32 length, UTF-8
  context_text,  // as text, null when empty
  bytes32,       // 32 bytes
  blob,          // u32 length, bytes
  identifier,
  consumer,
  offset_consumer,  // may be an external group in V12
  strategy,
  optional_partition,
  partitioning,
  options,        // header block with text keys, to the end of the body
  sized_options,  // the same after a u32 length
  map,            // nested fields
  list,           // u32 count, then nested fields that often
  list_u8,        // u8 count, then one byte each
  list_u32,       // u32 count, then u32 each
  list_rest,      // nested fields until the end
  list_counted,   // nested fields as often as the last `counts` field said
  custom,         // written by hand: see Custom
};

struct Field;

struct Fields {
  const Field* first = nullptr;
  std::uint32_t count = 0;

  constexpr Fields() = default;
  template <std::size_t N>
  constexpr Fields(const Field (&fields)[N])
      : first(fields), count(N) {}  // NOLINT: a table reads better implicit
  const Field* begin() const { return first; }
  const Field* end() const;
};

// For what no list of fields can say. Reached by pointer, so that a module without the command does not link
// it.
struct Custom {
  // `args` is the whole map of the level. A null function: this direction does not exist.
  void (*encode)(tape::Value args, Dialect dialect, bytes::Buffer& out, Error& error);
  // Writes keys and values into the open map; returns how many.
  std::uint32_t (*decode)(bytes::Reader& in, Dialect dialect, tape::Writer& out);
};

enum class In : std::uint8_t { all, v11, v12 };

struct Field {
  const char* key;
  Kind kind;
  Fields nested = {};
  In in = In::all;
  bool counts = false;    // says how often the next list_counted repeats
  bool optional = false;  // encode: absent means `otherwise`
  bool tail = false;      // decode: the body may end before it
  std::uint64_t otherwise = 0;
  const Custom* custom = nullptr;
};

inline const Field* Fields::end() const { return first + count; }

// Writes `fields` from the map `args`. The error carries the dotted path of the field.
Error encode_fields(Fields fields, tape::Value args, Dialect dialect, bytes::Buffer& out);
// Writes one map to the tape. Leaves the reader behind the last field; whoever called decides on what
// follows.
void decode_fields(Fields fields, bytes::Reader& in, Dialect dialect, tape::Writer& out);
// The same into a map that the caller has opened; returns the count of entries.
std::uint32_t decode_entries(Fields fields, bytes::Reader& in, Dialect dialect, tape::Writer& out);

}  // namespace tidemark::iggy
