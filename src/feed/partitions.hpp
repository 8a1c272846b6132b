#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "iggy/protocol_version.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

// What a client has learned of the partitions of the topics it publishes to, and whose turn it is on each of
// them. One object per client, shared by its Publish operations.
class Partitions {
 public:
  struct Topic {
    std::uint32_t count = 0;
    // Per partition an offset that everything sent from now on lies at or above: where a read-back starts.
    std::map<std::uint32_t, std::uint64_t> ends;
    std::map<std::uint32_t, PartitionContext> contexts;
  };

  // How the server speaks; told by the owner whenever a session comes up.
  iggy::Dialect dialect = iggy::Dialect::s11;
  void new_session(iggy::Dialect now) {
    // A server that speaks otherwise names partitions otherwise.
    if (now != dialect) topics_.clear();
    dialect = now;
  }

  // Streams' and topics' names hold no NUL, so that the pair is one key.
  static std::string key(const std::string& stream, const std::string& topic) {
    return stream + std::string(1, '\0') + topic;
  }

  Topic* find(const std::string& topic_key) {
    const auto found = topics_.find(topic_key);
    return found == topics_.end() ? nullptr : &found->second;
  }
  void learn(const std::string& topic_key, Topic topic) { topics_[topic_key] = std::move(topic); }
  void forget(const std::string& topic_key) { topics_.erase(topic_key); }

  // Round robin goes on where it was when the topic is learned again.
  std::uint32_t next_round(const std::string& topic_key) { return rounds_[topic_key]++; }

  // One unresolved send a partition, in the order of asking: true when it is the owner's turn.
  bool enter(const std::string& topic_key, std::uint32_t partition, const void* owner);
  void leave(const std::string& topic_key, std::uint32_t partition, const void* owner);

 private:
  std::map<std::string, Topic> topics_;
  std::map<std::string, std::uint32_t> rounds_;
  std::map<std::pair<std::string, std::uint32_t>, std::deque<const void*>> queues_;
};

}  // namespace tidemark::feed
