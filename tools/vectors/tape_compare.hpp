#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bytes/tape.hpp"

namespace vectors {

std::string to_hex(std::span<const std::uint8_t> bytes);
bool from_hex(const std::string& hex, tidemark::bytes::Buffer& out);
// Decimal.
std::string to_text(tidemark::tape::U128 value);

// Compares a decoded value with a sidecar's JSON: numbers, decimal strings and 0x strings for 64 and 128-bit
// integers, `name_hex` for bytes under `name`. Every key that the sidecar has must be there; returns "" or
// the first difference.
std::string compare(const nlohmann::json& expected, tidemark::tape::Value actual, const std::string& path);

}  // namespace vectors
