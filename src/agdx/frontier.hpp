#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bytes/tape.hpp"

namespace tidemark::agdx {

struct MutationPosition {
  std::uint64_t topic_generation = 0;
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;
};

// The largest position that each surface was ever shown to have applied (section 3.2 of the contract): a
// later read asks for at least that. Shared by everything on one connection.
class SeenFrontier {
 public:
  // `frontier` is the one of a decoded reply envelope.
  void observe(tape::Value frontier);
  void observe(const char* surface, const MutationPosition& position);
  std::optional<MutationPosition> seen(const char* surface) const;

 private:
  static constexpr const char* surfaces_[] = {"kv", "fork", "graph"};
  std::array<std::optional<MutationPosition>, 3> seen_;
};

}  // namespace tidemark::agdx
