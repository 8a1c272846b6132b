#include "iggy/checksum.hpp"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#define XXH_INLINE_ALL
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>
#pragma clang diagnostic pop

namespace tidemark::iggy {

std::uint64_t xxh3_64(std::span<const std::uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint32_t xxh32(std::span<const std::uint8_t> bytes) { return XXH32(bytes.data(), bytes.size(), 0); }

}  // namespace tidemark::iggy
