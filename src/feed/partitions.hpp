#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tidemark::feed {

// What a client has learned of the partitions of the topics it publishes to, and whose turn it is on each of
// them. One object per client, shared by its Publish operations.
class Partitions {
 public:
  struct Topic {
    std::uint32_t count = 0;
    std::uint32_t round_robin = 0;
  };
  // Streams' and topics' names hold no NUL, so that the pair is one key.
  static std::string key(const std::string& stream, const std::string& topic) {
    return stream + std::string(1, '\0') + topic;
  }

  Topic* find(const std::string& topic_key) {
    const auto found = topics_.find(topic_key);
    return found == topics_.end() ? nullptr : &found->second;
  }
  Topic& learn(const std::string& topic_key, std::uint32_t count) {
    auto& topic = topics_[topic_key];
    topic.count = count;
    return topic;
  }
  void forget(const std::string& topic_key) { topics_.erase(topic_key); }

  // One unresolved send a partition, in the order of asking: true when it is the owner's turn.
  bool enter(const std::string& topic_key, std::uint32_t partition, const void* owner);
  void leave(const std::string& topic_key, std::uint32_t partition, const void* owner);

 private:
  std::map<std::string, Topic> topics_;
  std::map<std::pair<std::string, std::uint32_t>, std::deque<const void*>> queues_;
};

}  // namespace tidemark::feed
