#pragma once

#include <cstdint>

#include "machine/now.hpp"
#include "machine/random.hpp"

namespace tidemark::changefeed {

struct Backoff {
  std::uint64_t first_micros = micros_from_ms(100);
  std::uint64_t longest_micros = micros_from_ms(5'000);

  // Before attempt 1, 2, …
  std::uint64_t delay(std::uint32_t attempt) const {
    auto delay = first_micros;
    for (std::uint32_t doubled = 1; doubled < attempt && delay < longest_micros; ++doubled) delay *= 2;
    return delay < longest_micros ? delay : longest_micros;
  }
  // Full jitter: for failures that hit many clients at one time.
  std::uint64_t jittered(std::uint32_t attempt, Random& random) const {
    return random.below(delay(attempt) + 1);
  }
};

}  // namespace tidemark::changefeed
