#include "agdx/utf16.hpp"

#include <array>

namespace tidemark::agdx {
namespace {

// A state machine whose states are shifts: for each byte a word holds, at the place of each state, the state
// that follows. Nothing branches on the text, whose scripts no processor predicts.
enum State : std::uint32_t {
  refused,
  start,
  one_left,
  two_left,
  three_left,
  after_e0,
  after_ed,
  after_f0,
  after_f4,
  states
};
constexpr std::uint32_t width = 6;
constexpr std::uint32_t units_at = 62;

constexpr State after(State state, std::uint32_t byte) {
  const auto in = [&](std::uint32_t low, std::uint32_t high) { return byte >= low && byte <= high; };
  const auto tail = [&](State next, std::uint32_t low, std::uint32_t high) {
    return in(low, high) ? next : refused;
  };
  switch (state) {
    case start:
      if (byte < 0x80) return start;
      if (in(0xC2, 0xDF)) return one_left;
      if (byte == 0xE0) return after_e0;
      if (byte == 0xED) return after_ed;
      if (in(0xE1, 0xEF)) return two_left;
      if (byte == 0xF0) return after_f0;
      if (in(0xF1, 0xF3)) return three_left;
      return byte == 0xF4 ? after_f4 : refused;
    case one_left: return tail(start, 0x80, 0xBF);
    case two_left: return tail(one_left, 0x80, 0xBF);
    case three_left: return tail(two_left, 0x80, 0xBF);
    case after_e0: return tail(one_left, 0xA0, 0xBF);
    case after_ed: return tail(one_left, 0x80, 0x9F);
    case after_f0: return tail(two_left, 0x90, 0xBF);
    case after_f4: return tail(two_left, 0x80, 0x8F);
    default: return refused;
  }
}

// The two bits on top are the units that the byte begins.
constexpr auto steps = [] {
  std::array<std::uint64_t, 256> made = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    made[byte] = std::uint64_t{byte >= 0xF0 ? 2U : (byte & 0xC0) == 0x80 ? 0U : 1U} << units_at;
    for (std::uint32_t state = 0; state < states; ++state)
      made[byte] |= std::uint64_t{after(static_cast<State>(state), byte)} * width << state * width;
  }
  return made;
}();

}  // namespace

std::uint32_t utf16_units(std::span<const std::uint8_t> text) {
  std::uint64_t state = std::uint64_t{start} * width;
  std::uint64_t units = 0;
  for (const auto byte : text) {
    const auto step = steps[byte];
    units += step >> units_at;
    state = step >> (state & 63);
  }
  return (state & 63) == std::uint64_t{start} * width ? static_cast<std::uint32_t>(units) : not_utf8;
}

}  // namespace tidemark::agdx
