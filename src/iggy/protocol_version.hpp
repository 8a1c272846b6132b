#pragma once

#include <cstdint>

namespace tidemark::iggy {

// The three ways servers speak the streaming protocol. Two of them share one protocol number and nearly every
// byte: `s11` (the stable release) and `snapshot` (an older 0.11.0 server); `v12` is protocol 0.12.2.
enum class Dialect : std::uint8_t { s11 = 0, v12 = 1, snapshot = 2 };

constexpr bool is_v12(Dialect dialect) { return dialect == Dialect::v12; }

constexpr std::uint32_t pack_version(std::uint32_t major, std::uint32_t minor, std::uint32_t patch) {
  return major << 20 | minor << 10 | patch;
}

inline constexpr std::uint32_t kVersion11 = pack_version(0, 11, 0);
inline constexpr std::uint32_t kVersion12 = pack_version(0, 12, 2);

constexpr std::uint32_t version_of(Dialect dialect) { return is_v12(dialect) ? kVersion12 : kVersion11; }

}  // namespace tidemark::iggy
