#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "feed/position.hpp"
#include "feed/reader_options.hpp"
#include "feed/reading.hpp"

namespace tidemark::feed {

// One partition of a durable reader: where it stands, what it has to ask next, and what its answers say about
// the history before that position.
//
//   answer to a poll at `a`                  means
//   first record above a                     gap: trimmed
//   an offset missing between records        gap: missing_inside
//   empty, head >= a                         ask `first`: nothing there either is trimmed_whole
//   empty, head = a - 1                      caught up
//   empty, head < a - 1, head > 0            suspicion of a rewind: holds when a poll a second later says the
//   same
//                                            and the topic record agrees (a lagging node may show a low head)
//   empty, head < a - 1, head = 0            proves nothing: ask `last`, and only a record there is a
//   suspicion
class PartitionLog {
 public:
  enum class Need : std::uint8_t { nothing, poll, first, last, topic };

  explicit PartitionLog(Position at, bool is_anchored = true) : position(at), anchored(is_anchored) {
    begin_round();
  }

  Position position;
  PartitionContext context;  // as the latest topic record gave it
  // False where a reader starts at "beginning" and has read nothing: it asks for no particular offset.
  bool anchored = true;
  Need need = Need::nothing;
  Need asking = Need::nothing;   // what the request in flight asks
  std::uint32_t tag = 0;         // of that request; 0 is none
  std::uint64_t not_before = 0;  // monotonic micros
  std::uint32_t refusals = 0;
  Attempts attempts;

  void begin_round();
  void forget_suspicion();
  void forget_request() { tag = 0, asking = Need::nothing; }
  // The partition has a new life under the same number: everything below its first record is another history.
  void recreated();

  // Answers. Each settles what the partition needs next; gaps are appended.
  void on_empty(std::uint64_t head, Now now);
  void on_first(const std::optional<std::uint64_t>& offset, std::uint64_t head, OnHistoryLost lost,
                std::vector<Gap>& gaps, Now now);
  void on_last(const std::optional<std::uint64_t>& offset, Now now);
  void on_topic_record(const TopicPartition& record);

  // How many of the records follow on from the position without loss, given that gaps may be passed when
  // reading goes on from the earliest. Moves the position behind them. `take_one` says whether a record may
  // still be taken.
  template <class Take>
  void advance(const std::vector<iggy::PolledMessage>& records, std::uint64_t head, OnHistoryLost lost,
               std::vector<Gap>& gaps, Take take_one);

 private:
  void suspect(Now now);
  void go_to(std::uint64_t next) { position.next = next, position.exhausted = false; }
  void go_behind(std::uint64_t offset) {
    position.next = after(offset);
    position.exhausted = offset == UINT64_MAX;
  }

  GapReason because_ = GapReason::trimmed_whole;  // why `first` is asked
  std::optional<std::uint64_t> suspected_since_;
  std::uint64_t suspected_at_ = 0;  // position
  std::uint64_t quiet_until_ = 0;   // no further `last` before
};

template <class Take>
void PartitionLog::advance(const std::vector<iggy::PolledMessage>& records, std::uint64_t head,
                           OnHistoryLost lost, std::vector<Gap>& gaps, Take take_one) {
  forget_suspicion();
  bool first = true;
  for (const auto& record : records) {
    if (!anchored) {
      go_to(record.offset);
      anchored = true;
    }
    const auto expected = position.next;
    if (record.offset != expected && lost == OnHistoryLost::now) {
      gaps.push_back({position.partition, expected, record.offset,
                      first ? GapReason::trimmed : GapReason::missing_inside});
      go_behind(head);
      break;
    }
    if (!take_one(record)) {
      need = Need::poll;
      return;
    }
    if (record.offset != expected)
      gaps.push_back({position.partition, expected, record.offset,
                      first ? GapReason::trimmed : GapReason::missing_inside});
    first = false;
    go_behind(record.offset);
  }
  need = position.next > head || position.exhausted ? Need::nothing : Need::poll;
}

}  // namespace tidemark::feed
