// tidemark_vectors DIR [GLOB]: decodes every golden file of a folder whose file name matches GLOB and
// compares it with its sidecar. Exit status 1 when one fails, or when nothing matched.
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "format.hpp"

namespace vectors {

std::vector<Format>& formats() {
  static std::vector<Format> all;
  return all;
}

namespace {

std::string run_one(const std::filesystem::path& path) {
  if (path.extension() == ".bin") return "has no sidecar";
  std::ifstream file(path);
  const auto sidecar = nlohmann::json::parse(file, nullptr, false);
  if (sidecar.is_discarded()) return "the sidecar is no JSON";
  for (const auto& format : formats())
    if (format.claims(sidecar)) return format.run(sidecar, path);
  return "unsupported kind of vector";
}

// A pattern may name the sidecar, the binary beside it or the bare vector name.
bool matches(const std::string& pattern, const std::filesystem::path& path) {
  for (const auto& name : {path.filename().string(), path.stem().string(), path.stem().string() + ".bin"})
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  return false;
}

int run(const std::filesystem::path& directory, const std::string& pattern) {
  std::error_code failure;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    const auto& path = entry.path();
    const bool alone = path.extension() == ".bin" &&
                       !std::filesystem::exists(std::filesystem::path(path).replace_extension(".json"));
    if ((path.extension() == ".json" || alone) && matches(pattern, path)) paths.push_back(path);
  }
  if (failure) {
    std::fprintf(stderr, "%s: %s\n", directory.c_str(), failure.message().c_str());
    return 1;
  }
  std::sort(paths.begin(), paths.end());

  unsigned passed = 0;
  unsigned failed = 0;
  for (const auto& path : paths) {
    std::string problem;
    try {
      problem = run_one(path);
    } catch (const std::exception& error) {
      problem = std::string("unreadable sidecar: ") + error.what();
    }
    if (problem.empty()) {
      passed += 1;
    } else {
      failed += 1;
      std::printf("FAIL %s: %s\n", path.filename().c_str(), problem.c_str());
    }
  }
  std::printf("%u passed, %u failed\n", passed, failed);
  return failed > 0 || passed == 0 ? 1 : 0;
}

}  // namespace
}  // namespace vectors

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: tidemark_vectors DIR [GLOB]\n");
    return 2;
  }
  return vectors::run(arguments[1], count == 3 ? arguments[2] : "*");
}
