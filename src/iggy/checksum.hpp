#pragma once

#include <cstdint>
#include <span>

namespace tidemark::iggy {

// XXH3-64, seed 0: every checksum of the protocol.
std::uint64_t xxh3_64(std::span<const std::uint8_t> bytes);
// XXH32, seed 0: only for choosing the partition of a messages key.
std::uint32_t xxh32(std::span<const std::uint8_t> bytes);

// `partitions` > 0.
inline std::uint32_t partition_of_key(std::span<const std::uint8_t> key, std::uint32_t partitions) {
  return xxh32(key) % partitions;
}

}  // namespace tidemark::iggy
