#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "bytes/tape.hpp"
#include "machine/now.hpp"

namespace tidemark {

// Deterministic numbers from a seed that the owner draws from the platform (xoshiro256**): a run can be
// replayed. Used for identities and jitter, never for secrets' strength beyond the seed's own.
class Random {
 public:
  using Seed = std::array<std::uint64_t, 4>;
  explicit Random(Seed seed) : state_(seed) {
    if (seed == Seed{}) state_[0] = 1;  // the all-zero state is a fixed point
  }

  std::uint64_t next() {
    const auto result = std::rotl(state_[1] * 5, 7) * 9;
    const auto shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // Uniform in [0, bound); 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  tape::U128 nonzero_u128() {
    tape::U128 value{next(), next()};
    if (value == tape::U128{}) value.low = 1;
    return value;
  }
  // 48 bits of wall-clock milliseconds, then 80 random bits: sortable by creation time.
  tape::U128 ulid(Now now) {
    const auto milliseconds = now.wall_micros / 1000;
    return {next(), (milliseconds << 16) | (next() & 0xFFFF)};
  }

 private:
  Seed state_;
};

}  // namespace tidemark
