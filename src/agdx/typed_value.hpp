#pragma once

#include <cstdint>

#include "agdx/decoding.hpp"
#include "agdx/schema.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "cbor/writer.hpp"

// One typed value: { kind, value } as on the wire, on a tape. Bytes are bytes, a decimal is { unscaled,
// precision, scale }, a struct [{ field_id, value }], a map [{ key, value }]. Values inside query results are
// not read this way but into columns (query_reply.hpp).
namespace tidemark::agdx {

// Reads one value; refuses only what cannot be read.
void read_value(Decoding& in, tape::Writer& out);

// The rules that a value must keep on its own. Takes tapes from JavaScript too (any number form that fits);
// something that is no typed value at all is refused as `argument`.
[[nodiscard]] Error check_value(tape::Value value);
// Also the rules of the field that it stands in: null, kind, width, members.
[[nodiscard]] Error check_value(tape::Value value, const FieldTree& tree, std::uint32_t field);

// Canonical CBOR of a value that check_value() accepts.
void write_value(tape::Value value, cbor::Writer& out);

// Text for display; never parsed. Appends to `out`.
void diagnostic_text(tape::Value value, bytes::Buffer& out);

// The kind and the payload of a value on a tape; kind is missing where it has none that is known.
struct TypedView {
  std::optional<TypeKind> kind;
  tape::Value value;
};
TypedView view_value(tape::Value value);

// Whether big-endian two's complement in the fewest bytes, 1 to 16, within `precision` digits; else the rule
// broken.
[[nodiscard]] Rule check_decimal(std::span<const std::uint8_t> unscaled, std::uint32_t precision,
                                 std::uint32_t scale);
// What orders the keys of a map. Clears `out`.
void map_key_bytes(const TypedView& key, bytes::Buffer& out);

}  // namespace tidemark::agdx
