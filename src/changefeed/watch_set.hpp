#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::changefeed {

struct Collection {
  std::string realm;
  std::string database;
  std::string name;
  bool system = false;  // its changes are told by key, op and field names only
  friend auto operator<=>(const Collection&, const Collection&) = default;
};

// What a consumer watches. Order and repetition of what was added make no difference.
class WatchSet {
 public:
  void add(Collection collection);
  bool empty() const { return collections_.empty(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(collections_.size()); }
  const std::vector<Collection>& collections() const { return collections_; }
  friend bool operator==(const WatchSet&, const WatchSet&) = default;

 private:
  std::vector<Collection> collections_;  // ascending, each once
};

}  // namespace tidemark::changefeed
