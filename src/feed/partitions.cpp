#include "feed/partitions.hpp"

#include <algorithm>

namespace tidemark::feed {

bool Partitions::enter(const std::string& topic_key, std::uint32_t partition, const void* owner) {
  auto& queue = queues_[{topic_key, partition}];
  if (std::find(queue.begin(), queue.end(), owner) == queue.end()) queue.push_back(owner);
  return queue.front() == owner;
}

void Partitions::leave(const std::string& topic_key, std::uint32_t partition, const void* owner) {
  const auto found = queues_.find({topic_key, partition});
  if (found == queues_.end()) return;
  std::erase(found->second, owner);
  if (found->second.empty()) queues_.erase(found);
}

}  // namespace tidemark::feed
