#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bytes/writer.hpp"

namespace tidemark::iggy::test {

struct Golden {
  std::string name;
  nlohmann::json sidecar;
  bytes::Buffer bytes;
};

inline bytes::Buffer from_hex(const std::string& hex) {
  bytes::Buffer bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

inline Golden golden(const std::string& name) {
  std::ifstream file(std::string(TIDEMARK_VECTORS) + "/iggy/" + name + ".json");
  Golden found{name, nlohmann::json::parse(file), {}};
  found.bytes = from_hex(found.sidecar["hex"]);
  return found;
}

inline std::vector<Golden> all_golden() {
  std::vector<Golden> all;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TIDEMARK_VECTORS) + "/iggy"))
    if (entry.path().extension() == ".json") all.push_back(golden(entry.path().stem()));
  return all;
}

// Copied to a heap block of exactly that size, so that the address sanitizer sees the first byte too many.
inline std::vector<std::uint8_t> exactly(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace tidemark::iggy::test
