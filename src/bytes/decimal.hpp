#pragma once

#include <cstdint>
#include <string>

namespace tidemark::bytes {

// std::to_string brings tables for every width with it.
inline std::string decimal(std::uint32_t number) {
  char digits[10];
  auto* at = digits + sizeof digits;
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  return {at, digits + sizeof digits};
}

}  // namespace tidemark::bytes
