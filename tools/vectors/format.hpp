#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// One family of golden files. A family registers itself from its own .cpp (`static const Registration ...`),
// so that the command line does not know the families.
namespace vectors {

struct Format {
  // Whether a sidecar belongs to this family.
  bool (*claims)(const nlohmann::json& sidecar);
  // Empty when everything the sidecar says holds; else what does not. `path` is the sidecar's own path.
  std::string (*run)(const nlohmann::json& sidecar, const std::filesystem::path& path);
};

std::vector<Format>& formats();

struct Registration {
  explicit Registration(Format format) { formats().push_back(format); }
};

}  // namespace vectors
