#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "feed/partition_log.hpp"
#include "feed/reading.hpp"

namespace tidemark::feed {

// Reads under a cap of bytes and loses nothing silently: each reply is held against what was asked, and the
// topic's identity is read again after the polls of a batch, so that records of a topic that was recreated
// meanwhile are never taken for records of the old one.
class DurableReading final : public Reading {
 public:
  explicit DurableReading(ReadState& state) : state_(state) {}

  void start(std::uint64_t wait_micros, Now now) override;
  void abandon() override;
  void new_session() override;
  void seek() override { adopted_ = committed_adopted_ = false; }
  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now now) override;

 private:
  static constexpr std::uint64_t topic_age = 5'000'000;  // after which new partitions are looked for
  static constexpr std::uint32_t most_refusals = 3;      // of one partition in one read
  static constexpr std::size_t most_deferred = 1000;     // partitions of one request

  void begin_round(Now now);
  void roll_back();
  void commit(bool caught_up);
  // Ends the round or the read when nothing is left to ask.
  void settle(Now now);

  void on_stream(const Reply& reply, Now now);
  void on_topic(std::uint32_t tag, const Reply& reply, Now now);
  bool retried(const Reply& reply, Now now);
  void source_missing(Now now);
  void adopt(const TopicState& topic);
  bool reborn(const TopicPartition& partition, const SourceIdentity& found) const;
  void compare(const TopicState& topic, const SourceIdentity& found);
  SourceIdentity identity_of(const TopicState& topic) const;

  void on_poll(PartitionLog& log, const Reply& reply, Now now);
  void take(PartitionLog& log, std::uint64_t head);
  std::uint32_t records_to_ask() const;
  bool asks(const PartitionLog& log) const;
  // The way to wait for records on servers of 0.12.2: they answer when there are some.
  bool may_defer(Now now) const;
  Request defer(Now now);
  void on_deferred(const Reply& reply, Now now);
  void on_section(iggy::PollReply& polled, std::uint32_t status, Now now);
  bool read_messages(iggy::PollReply& polled);

  ReadState& state_;
  std::vector<PartitionLog> logs_;  // as the read under way sees them, ascending by partition
  std::vector<PartitionLog> committed_logs_;
  std::optional<SourceIdentity> identity_;
  bool adopted_ = false;  // `from` has become positions
  bool committed_adopted_ = false;

  std::optional<StreamState> stream_;
  bool stream_fresh_ = false;  // read for the topic read that follows
  std::uint32_t stream_tag_ = 0;
  std::uint32_t topic_tag_ = 0;
  bool topic_wanted_ = false;
  bool topic_stale_ = true;
  bool have_topic_ = false;
  std::uint64_t topic_read_at_ = 0;
  Attempts topic_attempts_;

  std::uint64_t wait_ = 0;
  std::optional<std::uint64_t> next_round_at_;
  bool wants_defer_ = false;
  std::uint32_t defer_tag_ = 0;
  std::uint64_t deferred_at_ = 0;
  std::uint64_t defer_again_at_ = 0;  // not before: the server did not wait
  std::uint32_t in_flight_ = 0;
  std::size_t cursor_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0;
  bool full_ = false;
  bool dirty_ = false;              // records or positions whose topic was not confirmed afterwards
  std::uint32_t latest_taken_ = 0;  // tag of the latest poll of this read
  std::uint32_t unread_ = 0;
  bool was_caught_up_ = false;
  std::vector<Gap> gaps_;
  std::vector<iggy::PolledMessage> messages_;
};

}  // namespace tidemark::feed
