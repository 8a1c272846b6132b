#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "feed/failure.hpp"
#include "feed/position.hpp"
#include "feed/topic_source.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

// For every partition of a topic, the first offset appended at or after a time; the end of the partition when
// there is none. A missing topic fails with code 2010.
class OffsetForTime final : public Operation {
 public:
  OffsetForTime(std::string stream, std::string topic, std::uint64_t micros,
                iggy::Dialect dialect = iggy::Dialect::s11)
      : source_(std::move(stream), std::move(topic)), micros_(micros), dialect_(dialect) {}

  void new_session(iggy::Dialect dialect);
  bool done() const { return failure_.has_value() || finished_; }
  const std::optional<Failure>& failure() const { return failure_; }
  const Positions& positions() const { return positions_; }  // when done without a failure

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;

 private:
  static constexpr std::uint32_t most_stale = 3;
  void begin();
  void on_topic(const Reply& reply);
  void on_poll(Position& position, const Reply& reply);

  TopicSource source_;
  std::uint64_t micros_;
  iggy::Dialect dialect_;
  Positions positions_;
  std::vector<PartitionContext> contexts_;  // of the same partitions
  std::optional<Failure> failure_;
  std::uint32_t topic_tag_ = 0;  // polls are numbered behind it
  std::uint32_t stale_ = 0;
  bool asked_topic_ = false;
  bool finished_ = false;
  std::uint32_t next_to_ask_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t answered_ = 0;
};

}  // namespace tidemark::feed
