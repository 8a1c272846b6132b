#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bytes/writer.hpp"

namespace tidemark::agdx {

// Names by number. Grows only, so that a number means the same name in every batch; equal bytes get the same
// number. One table serves all readers of a client.
class NameTable {
 public:
  static constexpr std::uint32_t none = 0xFFFF'FFFF;

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::string_view at(std::uint32_t id) const {
    const auto from = id == 0 ? 0 : ends_[id - 1];
    return {reinterpret_cast<const char*>(bytes_.data()) + from, ends_[id] - from};
  }
  // The number of these bytes, or `none`.
  std::uint32_t find(std::string_view name) const { return lookup(name, hash(name)); }
  // The number of these bytes, given out now if they are new.
  std::uint32_t intern(std::string_view name);

 private:
  static std::uint32_t hash(std::string_view name);
  std::uint32_t lookup(std::string_view name, std::uint32_t hash) const;
  void place(std::uint32_t id);
  void grow();

  bytes::Buffer bytes_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint32_t> slots_;  // open addressing, id + 1, 0 is free; a power of two of them
};

}  // namespace tidemark::agdx
