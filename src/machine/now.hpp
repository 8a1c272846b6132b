#pragma once

#include <cstdint>

namespace tidemark {

// The two clocks, always handed in. A laptop's sleep moves them apart, which is how a wake is noticed.
// `mono` never goes back and is used for every deadline; `wall` is used for timestamps and deadlines on the
// wire.
struct Now {
  std::uint64_t mono_micros = 0;
  std::uint64_t wall_micros = 0;  // since 1970-01-01T00:00:00Z
};

constexpr std::uint64_t micros_from_ms(std::uint64_t ms) { return ms * 1000; }

}  // namespace tidemark
