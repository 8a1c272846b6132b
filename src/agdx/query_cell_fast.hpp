#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "agdx/query_cell.hpp"
#include "agdx/query_columns.hpp"
#include "agdx/typed_value.hpp"

// Included where rows are read, and nowhere else: all of it is inlined.
namespace tidemark::agdx::cell {

[[gnu::always_inline]] inline bool minimal(std::span<const std::uint8_t> unscaled) {
  return unscaled.size() == 1 || (unscaled[0] != 0x00 && unscaled[0] != 0xFF) ||
         (unscaled[0] & 0x80) != (unscaled[1] & 0x80);
}

[[gnu::always_inline]] inline bool decimal_fits(std::span<const std::uint8_t> unscaled,
                                                unsigned __int128 limit) {
  if (!minimal(unscaled)) return false;
  auto value = static_cast<unsigned __int128>((unscaled[0] & 0x80) != 0 ? -1 : 0);
  const bool negative = value != 0;
  for (const auto byte : unscaled) value = value << 8 | byte;
  return (negative ? 0 - value : value) < limit;
}

// One cell in its shortest spelling, taken and pushed. False changes nothing.
[[gnu::always_inline]] inline bool fast(QueryColumn& column, const std::uint8_t*& cell_at,
                                        const std::uint8_t* end) {
  const auto* at = cell_at;
  std::int64_t whole = 0;
  double real = 0;
  std::uint32_t length = 0;
  const auto begins = [&]<TypeKind kind>() {
    if (!Prefix<kind>::match(at)) return false;
    at += Prefix<kind>::size;
    return true;
  };
  const auto whole_of = [&]<TypeKind kind>() {
    return begins.template operator()<kind>() && integer(at, whole);
  };
  const auto fits = [&](std::uint32_t size) { return size <= static_cast<std::size_t>(end - at); };
  bool done = false;
  switch (column.kind) {
    case TypeKind::long_:
      done = whole_of.template operator()<TypeKind::long_>();
      if (done) column.push(whole);
      break;
    case TypeKind::string:
      if (!begins.template operator()<TypeKind::string>() || !string_head<0x60>(at, length)) break;
      if (!fits(length) || length > max_value_bytes) break;
      done = column.push_text({at, length}, fits(length + 8));
      at += length;
      break;
    case TypeKind::double_:
      done = begins.template operator()<TypeKind::double_>() && number(at, real);
      if (done) column.push(real);
      break;
    case TypeKind::int_:
      done = whole_of.template operator()<TypeKind::int_>() && whole >= INT32_MIN && whole <= INT32_MAX;
      if (done) column.push(static_cast<std::int32_t>(whole));
      break;
    case TypeKind::date:
      done = whole_of.template operator()<TypeKind::date>() && whole >= INT32_MIN && whole <= INT32_MAX;
      if (done) column.push(static_cast<std::int32_t>(whole));
      break;
    case TypeKind::timestamp_micros:
      done = whole_of.template operator()<TypeKind::timestamp_micros>();
      if (done) column.push(whole);
      break;
    case TypeKind::timestamp_tz_micros:
      done = whole_of.template operator()<TypeKind::timestamp_tz_micros>();
      if (done) column.push(whole);
      break;
    case TypeKind::time_micros:
      done = whole_of.template operator()<TypeKind::time_micros>() && whole >= 0 && whole < day_micros;
      if (done) column.push(whole);
      break;
    case TypeKind::boolean:
      done = begins.template operator()<TypeKind::boolean>() && (*at & 0xFE) == 0xF4;
      if (done) column.push_bit(*at++ == 0xF5);
      break;
    case TypeKind::float_: {
      if (!begins.template operator()<TypeKind::float_>() || !number(at, real)) break;
      const auto narrow = static_cast<float>(real);
      done = std::isfinite(narrow) && (narrow != 0 || !std::signbit(narrow));
      if (done) column.push(narrow);
      break;
    }
    case TypeKind::uuid:
      done = begins.template operator()<TypeKind::uuid>() && *at == 0x50;
      if (!done) break;
      column.push_uuid(at + 1);
      at += 17;
      break;
    case TypeKind::fixed:
      done = begins.template operator()<TypeKind::fixed>() && string_head<0x40>(at, length) && fits(length) &&
             length == column.fixed_length;
      if (!done) break;
      column.push_bytes({at, length});
      at += length;
      break;
    case TypeKind::binary:
      done = begins.template operator()<TypeKind::binary>() && string_head<0x40>(at, length) &&
             fits(length) && length <= max_value_bytes;
      if (!done) break;
      column.push_bytes({at, length});
      at += length;
      break;
    case TypeKind::decimal: {
      constexpr std::uint64_t unscaled_word = 0x64656C61'63736E75;  // "unscaled"
      if (!begins.template operator()<TypeKind::decimal>() || at[0] != 0xA3 || at[1] != 0x68) break;
      if (load<std::uint64_t>(at + 2) != unscaled_word) break;
      at += 10;
      length = static_cast<std::uint32_t>(*at++ - 0x40);
      if (length < 1 || length > 16) break;
      const std::span<const std::uint8_t> unscaled{at, length};
      at += length;
      const auto* tail = column.decimal_tail;
      const auto size = column.decimal_tail_size;
      const auto difference = (load<std::uint64_t>(at) ^ load<std::uint64_t>(tail)) |
                              (load<std::uint64_t>(at + 8) ^ load<std::uint64_t>(tail + 8)) |
                              (load<std::uint64_t>(at + size - 8) ^ load<std::uint64_t>(tail + size - 8));
      if (difference != 0 || !decimal_fits(unscaled, column.decimal_limit)) break;
      column.push_decimal(unscaled);
      at += size;
      done = true;
      break;
    }
    default: break;
  }
  if (done) [[likely]] {
    cell_at = at;
    return true;
  }
  if (!column.required && is_null(cell_at)) {
    column.push_null();
    cell_at += null_size;
    return true;
  }
  return false;
}

}  // namespace tidemark::agdx::cell
