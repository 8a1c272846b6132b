#pragma once

#include "agdx/path.hpp"
#include "bytes/error.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {

// A decode under way: what is read, where in the message that is, and the first error with its path.
struct Decoding {
  cbor::Reader& reader;
  Path& path;
  Error error = {};

  bool ok() const { return reader.ok(); }
  // To be called while the path still says where the reader failed.
  void note() {
    if (error || reader.ok()) return;
    error = reader.error();
    error.set_path(path.text());
  }
  void fail(Rule rule, std::size_t position) {
    reader.fail(rule, position);
    note();
  }
  void missing(std::string_view literal, std::size_t position) {
    const Path::Step step(path, literal.data());
    fail(Rule::missing_field, position);
  }
};

// The keys of a map that a decoder knows (literals). Remembers which were there and where their values are.
template <std::size_t count>
struct Keys {
  const char* const (&names)[count];
  cbor::Reader::Mark at[count] = {};
  std::uint32_t seen = 0;

  // Takes a key: its number, `count` for an unknown one. A key that comes again fails.
  std::size_t next(Decoding& in) {
    static_assert(count < 32);
    const auto position = in.reader.position();
    const auto key = in.reader.text();
    if (!in.ok()) return in.note(), count;
    for (std::size_t index = 0; index < count; ++index) {
      if (key != names[index]) continue;
      if (has(index)) {
        const Path::Step step(in.path, names[index]);
        in.fail(Rule::duplicate_key, position);
        return count;
      }
      seen |= 1U << index;
      at[index] = in.reader.mark();
      return index;
    }
    return count;
  }
  bool has(std::size_t index) const { return (seen >> index & 1) != 0; }
};

}  // namespace tidemark::agdx
