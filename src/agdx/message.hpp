#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

// Managed messages are tables. One engine reads CBOR into a tape (keys as on the wire), checks a tape against
// the rules of the tables, and writes a tape as canonical CBOR. A message is described once, in the order of
// its fields.
namespace tidemark::cbor {
class Writer;
}

namespace tidemark::agdx {

struct Decoding;

enum class Kind : std::uint8_t {
  boolean,
  u8,
  u16,
  u32,
  u64,
  i32,
  i64,
  u128,
  f32,
  f64,
  text,
  bytes,
  id,
  name,     // one of Names
  message,  // a Message
  one_of,   // a Union
  any,      // JSON-like: whatever it is
  custom,   // a Custom
};

enum class Presence : std::uint8_t {
  required,
  optional,      // left out when absent
  nullable,      // written as null when absent
  defaulted,     // always written; missing reads as the default
  skip_default,  // left out when equal to the default; missing reads as the default
};

// What a field's value must keep to. On an array of scalars it is about every item, except `items`.
enum class Limit : std::uint8_t {
  none,
  equals,       // number = minimum
  nonzero,      // number or identity is not zero
  range,        // minimum <= number <= maximum
  length,       // minimum <= bytes <= maximum
  label,        // as length, and no control characters
  ascii_label,  // as length, and no ASCII control characters
  name,         // 1 to 255 bytes, no control characters, no white space around it
  items,        // minimum <= items of the array <= maximum
};

struct Names {
  const char* const* names = nullptr;
  std::uint8_t count = 0;
  // Any other name reads as "unknown" (which is then one of the names), and is never sent.
  bool open = false;
};

struct Field {
  const char* key = "";
  Kind kind = Kind::any;
  Presence presence = Presence::required;
  bool array = false;
  Limit limit = Limit::none;
  Rule rule = Rule::none;      // of the limit
  const void* type = nullptr;  // Names, Message, Union or Custom, as `kind` says
  std::uint32_t minimum = 0;
  std::uint32_t maximum = 0;
  // Default: a number, a bool, or an index into the names. A text's is `fallback_text`, an array's is empty,
  // a message's is all its own defaults.
  std::uint32_t fallback = 0;
  const char* fallback_text = "";
};

// A rule over more than one field, asked once all single fields are right. Sets the error and says false.
using Check = bool (*)(tape::Value value, Error& error);

struct Message {
  std::span<const Field> fields;
  Check check = nullptr;
  enum class Unknown : std::uint8_t {
    skipped,
    refused,
    refused_outer,  // as refused; and with no known key at all it is something else (wrong_type)
  } unknown = Unknown::skipped;
  // What an absent one reads as, where that is more than the defaults of its fields.
  void (*fallback)(tape::Writer& out) = nullptr;
};

struct Variant {
  const char* name = "";
  // Nothing for a variant without data.
  const Field* value = nullptr;
};

struct Union {
  std::span<const Variant> variants;
  enum class Tagging : std::uint8_t {
    external,  // "Name" or { "Name": value }
    kind,      // { "kind": "name", ...the fields of the variant's message }
  } tagging = Tagging::external;
  // Any other kind reads as { "kind": "unknown" }, and is never sent.
  bool open = false;
  // As a Message's, after the variant's own.
  Check check = nullptr;
};

// A value that tables cannot describe.
struct Custom {
  void (*read)(Decoding& in, tape::Writer& out) = nullptr;
  // Also for values that come from JavaScript and may be of any shape.
  Error (*check)(tape::Value value) = nullptr;
  // Of a value that `check` accepts.
  void (*write)(tape::Value value, cbor::Writer& out) = nullptr;
};

// Appends one value to `out`. On an error `out` is what it was.
[[nodiscard]] Error decode(const Field& type, std::span<const std::uint8_t> input, bytes::Buffer& out);

// Whether a tape that decode() made keeps every rule.
[[nodiscard]] Error validate(const Field& type, tape::Value value);

enum class Encode : std::uint8_t {
  outgoing,  // "unknown" names are refused
  again,     // as they were read
};
// Appends canonical CBOR to `out`; on an error `out` is what it was. Takes tapes from JavaScript too (any
// number form, null for absent, missing defaults). A key that no field has is refused (`argument`).
[[nodiscard]] Error encode(const Field& type, tape::Value value, bytes::Buffer& out,
                           Encode mode = Encode::outgoing);

// encode() and every rule: what a request goes through before it is sent.
[[nodiscard]] Error encode_valid(const Field& type, tape::Value value, bytes::Buffer& out);

inline const Names& names_of(const Field& field) { return *static_cast<const Names*>(field.type); }
inline const Message& message_of(const Field& field) { return *static_cast<const Message*>(field.type); }
inline const Custom& custom_of(const Field& field) { return *static_cast<const Custom*>(field.type); }
inline const Union& union_of(const Field& field) { return *static_cast<const Union*>(field.type); }

// Helpers for checks.
bool refuse(Error& error, Rule rule, std::string_view field);
bool all_zero(std::span<const std::uint8_t> bytes);
bool is_label(std::string_view text, std::size_t minimum, std::size_t maximum);
inline std::uint64_t number(tape::Value value) {
  std::uint64_t result = 0;
  return value.to_u64(result) ? result : 0;
}

// Walks the items of an array on a tape.
template <class Visit>
bool each(tape::Value array, Visit visit) {
  auto item = array.first();
  for (std::uint32_t index = 0; index < array.count(); ++index, item = item.next())
    if (!visit(item, index)) return false;
  return true;
}

}  // namespace tidemark::agdx
