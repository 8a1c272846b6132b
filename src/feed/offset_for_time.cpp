#include "feed/offset_for_time.hpp"

#include <algorithm>

#include "feed/reading.hpp"
#include "iggy/message_batch.hpp"

namespace tidemark::feed {

// A server that speaks otherwise names partitions otherwise.
void OffsetForTime::new_session(iggy::Dialect dialect) {
  if (dialect == dialect_) return;
  dialect_ = dialect;
  begin();
}

// From the topic on. What was asked before is nobody's answer any more.
void OffsetForTime::begin() {
  topic_tag_ += static_cast<std::uint32_t>(positions_.size()) + 1;
  positions_.clear();
  contexts_.clear();
  asked_topic_ = false;
  next_to_ask_ = in_flight_ = answered_ = 0;
}

std::optional<Request> OffsetForTime::poll_request(Now) {
  if (done()) return std::nullopt;
  if (!asked_topic_) {
    asked_topic_ = true;
    return source_.get_topic(topic_tag_);
  }
  if (next_to_ask_ >= positions_.size() || in_flight_ >= max_in_flight) return std::nullopt;
  ++in_flight_;
  const auto index = next_to_ask_++;
  return source_.poll(topic_tag_ + index + 1, positions_[index].partition, contexts_[index],
                      iggy::StrategyKind::timestamp, micros_, 1);
}

void OffsetForTime::on_reply(std::uint32_t tag, const Reply& reply, Now) {
  if (done() || tag < topic_tag_) return;
  const auto index = tag - topic_tag_;
  if (TopicSource::is_stale(reply) && ++stale_ <= most_stale) {
    begin();
  } else if (reply.outcome != Outcome::ok) {
    failure_ = failure_of(reply);
  } else if (index == 0) {
    on_topic(reply);
  } else if (index <= positions_.size()) {
    --in_flight_;
    on_poll(positions_[index - 1], reply);
  }
}

void OffsetForTime::on_topic(const Reply& reply) {
  std::optional<TopicState> topic;
  Error error;
  if (!TopicSource::read_topic(reply, dialect_, topic, error)) {
    failure_ = failure_of(error);
    return;
  }
  if (!topic) {
    failure_ = Failure{.kind = FailureKind::command, .code = 2010, .error = {}};
    return;
  }
  for (const auto& partition : topic->partitions) {
    positions_.push_back({partition.id, 0, false});
    contexts_.push_back(partition.context);
  }
  finished_ = positions_.empty();
}

void OffsetForTime::on_poll(Position& position, const Reply& reply) {
  iggy::PollReply polled(reply.payload, dialect_);
  iggy::PolledMessage message;
  const bool found = polled.next(message);
  if (polled.error()) {
    failure_ = failure_of(polled.error());
    return;
  }
  const auto head = polled.current_offset();
  // Head 0 without a record is an empty partition, or one whose only record is older: behind it is right for
  // the second, and the first has no such offset yet, so that a reader from there would miss its first
  // record.
  position.next = found ? message.offset : head == 0 ? 0 : after(head);
  if (++answered_ == positions_.size()) finished_ = true;
}

}  // namespace tidemark::feed
