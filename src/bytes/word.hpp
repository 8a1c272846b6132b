#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

// Words of memory at any address.
namespace tidemark::bytes {

template <class T>
[[gnu::always_inline]] inline T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Byte order turned round. Wasm has no instruction for it, and what the compiler makes of the builtin is
// twice as long; the barrier keeps it from recognizing the builtin here.
[[gnu::always_inline]] inline std::uint64_t swapped(std::uint64_t value) {
#ifdef __wasm__
  value = ((value & 0x00FF'00FF'00FF'00FFU) << 8) | ((value >> 8) & 0x00FF'00FF'00FF'00FFU);
  asm("" : "+r"(value));
  value = ((value & 0x0000'FFFF'0000'FFFFU) << 16) | ((value >> 16) & 0x0000'FFFF'0000'FFFFU);
  asm("" : "+r"(value));
  return std::rotl(value, 32);
#else
  return __builtin_bswap64(value);
#endif
}

[[gnu::always_inline]] inline std::uint32_t swapped(std::uint32_t value) {
#ifdef __wasm__
  auto odd = std::rotl(value, 8) & 0x00FF'00FFU;
  asm("" : "+r"(odd));
  return odd | (std::rotr(value, 8) & 0xFF00'FF00U);
#else
  return __builtin_bswap32(value);
#endif
}

}  // namespace tidemark::bytes
