#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

// Tapes beside the JSON notation of sidecars.
namespace vectors {

std::string hex(const tidemark::bytes::Buffer& bytes);

// What of the sidecar's `cbor` the tape does not say, or says otherwise; empty when it says all. A tape may
// say more (defaults). `lenient`: keys that no field has may be missing, and `unknown` may stand for a name.
std::string differs(const nlohmann::json& wanted, tidemark::tape::Value value, bool lenient);

// Exact comparison of plain JSON with a set that is already JSON; keys beyond the wanted ones are allowed.
std::string differs(const nlohmann::json& wanted, const nlohmann::json& actual);

// A tape of plain values as JSON with camelCase keys; bytes become hexadecimal text.
nlohmann::json camel_case(tidemark::tape::Value value);

}  // namespace vectors
