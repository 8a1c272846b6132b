#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bytes/error.hpp"
#include "iggy/protocol_version.hpp"

namespace vectors {

// One encoded piece without a header: which one follows from the shape of its fields.
std::string run_fragment(const nlohmann::json& sidecar, tidemark::iggy::Dialect dialect,
                         std::span<const std::uint8_t> bytes);
// A piece that must be rejected says what it is only in its name.
tidemark::Error refuse_fragment(const nlohmann::json& sidecar, tidemark::iggy::Dialect dialect,
                                std::span<const std::uint8_t> bytes);

}  // namespace vectors
