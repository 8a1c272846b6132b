#include "agdx/name_table.hpp"

#include <cstring>

namespace tidemark::agdx {

std::uint32_t NameTable::hash(std::string_view name) {
  std::uint64_t state = name.size() * 0x9E37'79B9'7F4A'7C15U;
  const auto mix = [&state](std::uint64_t word) {
    state = (state ^ word) * 0xFF51'AFD7'ED55'8CCDU;
    state ^= state >> 32;
  };
  std::size_t at = 0;
  for (; at + 8 <= name.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + at, 8);
    mix(word);
  }
  std::uint64_t tail = 0;
  if (at < name.size()) std::memcpy(&tail, name.data() + at, name.size() - at);
  mix(tail);
  return static_cast<std::uint32_t>(state ^ state >> 32);
}

std::uint32_t NameTable::lookup(std::string_view name, std::uint32_t hash) const {
  if (slots_.empty()) return none;
  const auto mask = static_cast<std::uint32_t>(slots_.size()) - 1;
  for (auto slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const auto id = slots_[slot] - 1;
    if (hashes_[id] == hash && at(id) == name) return id;
  }
  return none;
}

std::uint32_t NameTable::intern(std::string_view name) {
  const auto hashed = hash(name);
  if (const auto known = lookup(name, hashed); known != none) return known;
  if ((ends_.size() + 1) * 2 > slots_.size()) grow();
  const auto id = size();
  bytes_.insert(bytes_.end(), name.begin(), name.end());
  ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  hashes_.push_back(hashed);
  place(id);
  return id;
}

void NameTable::place(std::uint32_t id) {
  const auto mask = static_cast<std::uint32_t>(slots_.size()) - 1;
  auto slot = hashes_[id] & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = id + 1;
}

void NameTable::grow() {
  slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, 0);
  for (std::uint32_t id = 0; id < size(); ++id) place(id);
}

}  // namespace tidemark::agdx
