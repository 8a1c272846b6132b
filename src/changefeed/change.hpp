#pragma once

#include <cstdint>

namespace tidemark::changefeed {

enum class Op : std::uint8_t {
  insert,
  update,
  replace,
  remove,
  advance,  // of a log's feed: a range of records landed in an index. It has no key and no images
};

// What is decided about a change by its outline alone. Values never come here.
struct Outline {
  Op op = Op::insert;
  bool system = false;
  bool has_before = false;
  bool has_after = false;
  std::uint64_t at_micros = 0;  // cluster time since 1970; 0: unknown
};

// How a change is handed over.
struct Admission {
  // Key, op and field names are all that a handler may see.
  bool outline_only = false;
  // Every image that the op has is there. Where it is not, content proves nothing: whoever filters or
  // authorizes by it must not take the change for a match.
  bool complete = false;
  // Names of changed fields mean something for updates alone.
  bool field_names = false;
  friend bool operator==(const Admission&, const Admission&) = default;
};

Admission admit(const Outline& change);

}  // namespace tidemark::changefeed
