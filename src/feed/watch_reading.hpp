#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "feed/reading.hpp"

namespace tidemark::feed {

// The reader algorithm of the managed contract (docs/protocol/agdx.md 8.3): every partition is drained from
// its position to its head, at most 10,000 records of each; all positions move together, or none.
class WatchReading final : public Reading {
 public:
  explicit WatchReading(ReadState& state) : state_(state) {}

  void start(std::uint64_t wait_micros, Now now) override;
  void abandon() override;
  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now) override {}

 private:
  static constexpr std::uint32_t drain_cap = 10'000;
  static constexpr std::uint32_t most_stale = 3;
  struct Drain {
    Position position;
    PartitionContext context = {};
    std::uint32_t read = 0;
    std::uint32_t tag = 0;  // of the poll in flight; 0 is none
    bool done = false;
    Attempts attempts;
  };
  void on_topic(const Reply& reply, Now now);
  void on_poll(Drain& drain, const Reply& reply, Now now);
  void begin();
  void begin_drains(const std::optional<TopicState>& topic);
  void finish();
  Positions resolved(const std::optional<TopicState>& topic) const;

  ReadState& state_;
  std::uint32_t topic_tag_ = 0;
  bool want_topic_ = false;
  Attempts topic_attempts_;
  std::vector<Drain> drains_;
  std::vector<std::uint32_t> ready_;     // drains whose next poll may go out
  std::vector<std::uint32_t> retrying_;  // drains that wait for their retry time
  std::uint32_t in_flight_ = 0;
  std::uint32_t open_ = 0;
  std::uint32_t stale_ = 0;  // answers of this read that made it begin anew
  bool hit_cap_ = false;
  std::uint32_t unread_ = 0;
  Positions positions_;
  std::vector<iggy::PolledMessage> messages_;
};

}  // namespace tidemark::feed
