#pragma once

#include "agdx/name_table.hpp"
#include "bytes/tape.hpp"

namespace tidemark::wasm {

// The names from number `first` on, as an array of texts.
inline void write_names(const agdx::NameTable& names, std::uint32_t first, bytes::Buffer& out) {
  tape::Writer writer(out);
  const auto mark = writer.open(tape::Tag::array);
  std::uint32_t count = 0;
  for (auto id = first; id < names.size(); ++id, ++count) writer.text(names.at(id));
  writer.close(mark, count);
}

}  // namespace tidemark::wasm
