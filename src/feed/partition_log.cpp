#include "feed/partition_log.hpp"

namespace tidemark::feed {
namespace {

constexpr std::uint64_t confirm_after = 1'000'000;
constexpr std::uint64_t look_again = 100'000;

}  // namespace

void PartitionLog::begin_round() {
  if (position.exhausted)
    need = Need::nothing;
  else if (need == Need::nothing)
    need = Need::poll;
}

void PartitionLog::forget_suspicion() {
  suspected_since_.reset();
  quiet_until_ = 0;
  if (need == Need::topic) need = Need::poll;
}

void PartitionLog::recreated() {
  forget_request();
  forget_suspicion();
  position.exhausted = false;
  not_before = 0;
  need = Need::first;
  because_ = GapReason::recreated;
}

void PartitionLog::suspect(Now now) {
  const auto asked = position.next;
  if (!suspected_since_ || suspected_at_ != asked) {
    suspected_since_ = now.mono_micros;
    suspected_at_ = asked;
  }
  if (now.mono_micros >= *suspected_since_ + confirm_after) {
    need = Need::topic;
    return;
  }
  need = Need::poll;
  not_before = *suspected_since_ + confirm_after;
}

void PartitionLog::on_empty(std::uint64_t head, Now now) {
  const auto asked = position.next;
  need = Need::nothing;
  if (head >= asked) {
    if (head == 0) return;  // an empty partition, or one whose only record was trimmed: proves nothing
    need = Need::first;
    because_ = GapReason::trimmed_whole;
  } else if (head == asked - 1 && head > 0) {
    forget_suspicion();
  } else if (head < asked - 1) {
    if (head > 0)
      suspect(now);
    else if (now.mono_micros >= quiet_until_)
      need = Need::last;
  }
}

void PartitionLog::on_first(const std::optional<std::uint64_t>& offset, std::uint64_t head,
                            OnHistoryLost lost, std::vector<Gap>& gaps, Now now) {
  const auto asked = position.next;
  if (because_ == GapReason::trimmed_whole) {
    if (!offset ? head < asked : *offset <= asked) {
      // Not what the poll said: the log changed in between. Looked at again in a while.
      need = offset ? Need::nothing : Need::poll;
      not_before = now.mono_micros + look_again;
      return;
    }
    if (anchored)
      gaps.push_back(
          {position.partition, asked, offset, offset ? GapReason::trimmed : GapReason::trimmed_whole});
  } else {
    gaps.push_back({position.partition, asked, offset, because_});
  }
  const bool may_go_on = lost == OnHistoryLost::earliest || !anchored;
  anchored = true;
  forget_suspicion();
  if (offset && may_go_on) {
    go_to(*offset);
    need = Need::poll;
    return;
  }
  if (offset || head > 0)
    go_behind(head);
  else
    go_to(0);  // head 0 and nothing there: it has not begun
  need = Need::nothing;
}

void PartitionLog::on_last(const std::optional<std::uint64_t>& offset, Now now) {
  if (!offset) {
    quiet_until_ = now.mono_micros + confirm_after;
    need = Need::nothing;
  } else if (position.next > 0 && *offset < position.next - 1) {
    suspect(now);
  } else {
    need = Need::poll;
    not_before = now.mono_micros + look_again;
  }
}

void PartitionLog::on_topic_record(const TopicPartition& record) {
  if (need != Need::topic) return;
  if (position.next > 0 && record.current_offset < position.next - 1) {
    need = Need::first;
    because_ = GapReason::rewound;
    return;
  }
  forget_suspicion();
  need = Need::nothing;
}

}  // namespace tidemark::feed
