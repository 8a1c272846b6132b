#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "iggy/frame.hpp"

namespace vectors {

// Compares every key of a sidecar's decoded header; a key that is not known counts as a difference.
std::string compare_header(const nlohmann::json& expected, const tidemark::iggy::Frame& frame);

}  // namespace vectors
