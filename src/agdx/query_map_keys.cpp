#include "agdx/query_map_keys.hpp"

#include <cstring>
#include <span>

#include "bytes/word.hpp"

namespace tidemark::agdx {
namespace {

int compare_bytes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  const auto size = a.size() < b.size() ? a.size() : b.size();
  const auto order = size > 0 ? std::memcmp(a.data(), b.data(), size) : 0;
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

// The big-endian bytes that a decimal slot was made of, in `out`.
std::span<const std::uint8_t> decimal_bytes(const QueryColumn& column, std::uint32_t slot,
                                            std::uint8_t (&out)[16]) {
  const auto* from = column.values.data() + std::size_t{slot} * 16;
  for (std::size_t index = 0; index < 16; ++index) out[index] = from[15 - index];
  std::size_t skip = 0;
  while (skip < 15 &&
         ((out[skip] == 0x00 && out[skip + 1] < 0x80) || (out[skip] == 0xFF && out[skip + 1] >= 0x80)))
    ++skip;
  return {out + skip, 16 - skip};
}

}  // namespace

bool key_before(const QueryColumn& column, std::uint32_t a, std::uint32_t b) {
  const auto word32 = [&](std::uint32_t slot) {
    return bytes::load<std::uint32_t>(column.values.data() + std::size_t{slot} * 4);
  };
  const auto word64 = [&](std::uint32_t slot) {
    return bytes::load<std::uint64_t>(column.values.data() + std::size_t{slot} * 8);
  };
  const auto run = [&](std::uint32_t slot) {
    return std::span<const std::uint8_t>{column.values.data() + column.offsets[slot],
                                         column.offsets[slot + 1] - column.offsets[slot]};
  };
  switch (column.kind) {
    case TypeKind::boolean: {
      const auto bit = [&](std::uint32_t slot) { return (column.values[slot / 8] >> slot % 8 & 1) != 0; };
      return !bit(a) && bit(b);
    }
    case TypeKind::int_:
    case TypeKind::date: return word32(a) < word32(b);
    case TypeKind::decimal: {
      std::uint8_t first[16];
      std::uint8_t second[16];
      return compare_bytes(decimal_bytes(column, a, first), decimal_bytes(column, b, second)) < 0;
    }
    case TypeKind::uuid:
      return std::memcmp(column.values.data() + std::size_t{a} * 16,
                         column.values.data() + std::size_t{b} * 16, 16) < 0;
    case TypeKind::string:
    case TypeKind::fixed:
    case TypeKind::binary: return compare_bytes(run(a), run(b)) < 0;
    default: return word64(a) < word64(b);
  }
}

}  // namespace tidemark::agdx
