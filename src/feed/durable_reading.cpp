#include "feed/durable_reading.hpp"

#include <algorithm>

#include "iggy/defaults.hpp"

namespace tidemark::feed {
namespace {

using Need = PartitionLog::Need;

Failure broken(Rule rule) {
  Error error;
  error.rule = rule;
  return failure_of(error);
}

}  // namespace

void DurableReading::start(std::uint64_t wait_micros, Now now) {
  abandon();
  wait_ = wait_micros;
  if (!was_caught_up_ && state_.now_in == ReaderState::idle) state_.now_in = ReaderState::reading;
  begin_round(now);
}

void DurableReading::abandon() {
  roll_back();
  next_round_at_.reset();
  stream_tag_ = topic_tag_ = defer_tag_ = 0;
  stream_fresh_ = false;
  topic_wanted_ = wants_defer_ = false;
  topic_attempts_.reset();
  latest_taken_ = 0;
  for (auto* logs : {&logs_, &committed_logs_})
    for (auto& log : *logs) {
      log.attempts.reset();
      log.refusals = 0;
    }
}

void DurableReading::roll_back() {
  logs_ = committed_logs_;
  for (auto& log : logs_) log.forget_request();
  identity_ = state_.identity;
  adopted_ = committed_adopted_;
  in_flight_ = 0;
  bytes_ = records_ = 0;
  full_ = dirty_ = false;
  gaps_.clear();
  state_.collector.clear();
}

void DurableReading::new_session() {
  topic_stale_ = true;
  defer_again_at_ = 0;
  for (auto* logs : {&logs_, &committed_logs_})
    for (auto& log : *logs) {
      log.forget_suspicion();
      log.not_before = 0;
    }
}

void DurableReading::begin_round(Now now) {
  next_round_at_.reset();
  if (topic_stale_ || !have_topic_ || !adopted_ || now.mono_micros >= topic_read_at_ + topic_age)
    topic_wanted_ = true;
  for (auto& log : logs_) {
    log.begin_round();
    if (log.need == Need::topic) topic_wanted_ = true;
  }
}

std::uint32_t DurableReading::records_to_ask() const {
  if (records_ == 0) return state_.options.batch;
  const auto average = bytes_ / records_;
  const auto left =
      (state_.options.byte_cap - std::min<std::uint64_t>(bytes_, state_.options.byte_cap)) / average;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(left, 1, state_.options.batch));
}

// Whether a partition has a request to make. A batch that is full is finished, not filled further.
bool DurableReading::asks(const PartitionLog& log) const {
  if (full_) return log.need == Need::first;
  return log.need != Need::nothing && log.need != Need::topic;
}

std::optional<Request> DurableReading::poll_request(Now now) {
  if (!state_.under_way) return std::nullopt;
  if (next_round_at_) {
    if (now.mono_micros < *next_round_at_) return std::nullopt;
    begin_round(now);
  }
  if (stream_tag_ != 0 || topic_tag_ != 0 || defer_tag_ != 0) return std::nullopt;
  if (topic_wanted_) {
    if (now.mono_micros < topic_attempts_.retry_at()) return std::nullopt;
    if (!stream_) {
      stream_tag_ = state_.take_tag();
      return state_.source.get_stream(stream_tag_);
    }
    topic_wanted_ = false;
    topic_tag_ = state_.take_tag();
    return state_.source.get_topic(topic_tag_);
  }
  if (in_flight_ >= max_in_flight) return std::nullopt;
  for (std::size_t step = 0; step < logs_.size(); ++step) {
    cursor_ = (cursor_ + 1) % logs_.size();
    auto& log = logs_[cursor_];
    if (log.tag != 0 || now.mono_micros < log.not_before) continue;
    if (!asks(log)) continue;
    ++in_flight_;
    log.tag = state_.take_tag();
    log.asking = log.need;
    const auto partition = log.position.partition;
    switch (log.need) {
      case Need::first:
        return state_.source.poll(log.tag, partition, log.context, iggy::StrategyKind::first, 0, 1);
      case Need::last:
        return state_.source.poll(log.tag, partition, log.context, iggy::StrategyKind::last, 0, 1);
      default:
        return state_.source.poll(log.tag, partition, log.context, iggy::StrategyKind::offset,
                                  log.position.next, records_to_ask());
    }
  }
  settle(now);  // nothing to ask at all: no partitions, or all of them at their very end
  if (wants_defer_) return defer(now);
  return std::nullopt;
}

bool DurableReading::may_defer(Now now) const {
  return iggy::is_v12(state_.dialect) && now.mono_micros >= defer_again_at_ &&
         logs_.size() <= most_deferred &&
         std::any_of(logs_.begin(), logs_.end(),
                     [](const PartitionLog& log) { return !log.position.exhausted; });
}

Request DurableReading::defer(Now now) {
  wants_defer_ = false;
  defer_tag_ = state_.take_tag();
  deferred_at_ = now.mono_micros;
  std::vector<TopicSource::Target> targets;
  for (const auto& log : logs_)
    if (!log.position.exhausted) targets.push_back({log.position.partition, log.position.next, log.context});
  return state_.source.wait(defer_tag_, targets, state_.options.batch, state_.options.byte_cap);
}

void DurableReading::on_deferred(const Reply& reply, Now now) {
  if (reply.outcome != Outcome::ok) {
    // Found out by a plain poll: it may be the partition, or a server that does not wait.
    if (reply.outcome == Outcome::refused && !TopicSource::means_gone(reply))
      defer_again_at_ = now.mono_micros + iggy::defaults::kDeferAgain;
    return begin_round(now);
  }
  if (topic_stale_ || now.mono_micros >= topic_read_at_ + topic_age) topic_wanted_ = true;
  const auto before = records_;
  if (std::count_if(logs_.begin(), logs_.end(), [](const auto& log) { return !log.position.exhausted; }) ==
      1) {
    iggy::PollReply polled(reply.payload, state_.dialect);
    on_section(polled, 0, now);
  } else {
    iggy::FetchReply fetched(reply.payload);
    std::uint32_t status = 0;
    while (auto polled = fetched.next(status)) {
      on_section(*polled, status, now);
      if (!state_.under_way) return;
    }
    if (fetched.error()) return state_.fail(failure_of(fetched.error()));
  }
  // A server that answers at once with nothing is asked at the interval, like any other.
  if (state_.under_way && records_ == before && !topic_wanted_ && now.mono_micros < deferred_at_ + wait_)
    next_round_at_ = deferred_at_ + wait_;
}

void DurableReading::on_section(iggy::PollReply& polled, std::uint32_t status, Now now) {
  const auto log = std::find_if(logs_.begin(), logs_.end(), [&](const PartitionLog& one) {
    return one.position.partition == polled.partition_id();
  });
  if (log == logs_.end()) return;
  if (status != 0) {
    log->begin_round();  // a plain poll meets the same refusal
    return;
  }
  if (!read_messages(polled)) return;
  if (messages_.empty())
    log->on_empty(polled.current_offset(), now);
  else
    take(*log, polled.current_offset());
  if (log->need == Need::topic) topic_wanted_ = true;
}

bool DurableReading::read_messages(iggy::PollReply& polled) {
  messages_.clear();
  iggy::PolledMessage message;
  while (polled.next(message)) messages_.push_back(message);
  if (polled.error()) state_.fail(failure_of(polled.error()));
  return !polled.error();
}

void DurableReading::on_reply(std::uint32_t tag, const Reply& reply, Now now) {
  if (!state_.under_way || tag == 0) return;
  if (tag == stream_tag_) {
    stream_tag_ = 0;
    on_stream(reply, now);
  } else if (tag == topic_tag_) {
    topic_tag_ = 0;
    on_topic(tag, reply, now);
  } else if (tag == defer_tag_) {
    defer_tag_ = 0;
    latest_taken_ = std::max(latest_taken_, tag);
    on_deferred(reply, now);
  } else {
    const auto log =
        std::find_if(logs_.begin(), logs_.end(), [tag](const PartitionLog& one) { return one.tag == tag; });
    if (log == logs_.end()) return;
    log->tag = 0;
    --in_flight_;
    latest_taken_ = std::max(latest_taken_, tag);
    on_poll(*log, reply, now);
  }
  settle(now);
}

// A failed read of the stream or topic: asked again after a pause, or the end of this read.
bool DurableReading::retried(const Reply& reply, Now now) {
  if (topic_attempts_.again(reply, now)) {
    topic_wanted_ = true;
    return true;
  }
  state_.fail(failure_of(reply));
  return false;
}

void DurableReading::on_stream(const Reply& reply, Now now) {
  if (TopicSource::means_gone(reply)) return source_missing(now);
  if (reply.outcome != Outcome::ok) {
    retried(reply, now);
    return;
  }
  Error error;
  if (!TopicSource::read_stream(reply, state_.dialect, stream_, error)) return state_.fail(failure_of(error));
  if (!stream_) return source_missing(now);
  stream_fresh_ = true;
}

void DurableReading::source_missing(Now now) {
  roll_back();
  stream_.reset();
  have_topic_ = false;
  was_caught_up_ = false;
  topic_wanted_ = false;
  state_.now_in = ReaderState::waiting_for_source;
  if (wait_ == 0)
    commit(true);
  else
    next_round_at_ = now.mono_micros + wait_;
}

void DurableReading::on_topic(std::uint32_t tag, const Reply& reply, Now now) {
  if (TopicSource::means_gone(reply)) return source_missing(now);
  if (reply.outcome != Outcome::ok) {
    retried(reply, now);
    return;
  }
  std::optional<TopicState> topic;
  Error error;
  if (!TopicSource::read_topic(reply, state_.dialect, topic, error)) return state_.fail(failure_of(error));
  if (!topic) return source_missing(now);
  topic_attempts_.reset();
  unread_ = topic->partitions.size() > max_partitions
                ? static_cast<std::uint32_t>(topic->partitions.size()) - max_partitions
                : 0;
  if (unread_ > 0) topic->partitions.resize(max_partitions);
  // Another topic than the one held lies in another stream, maybe: the stream is read again before judging.
  const auto found = identity_of(*topic);
  if (identity_ && !identity_->same_topic(found) && !stream_fresh_) {
    stream_.reset();
    topic_wanted_ = true;
    return;
  }
  stream_fresh_ = false;
  topic_stale_ = false;
  have_topic_ = true;
  topic_read_at_ = now.mono_micros;
  if (state_.now_in == ReaderState::waiting_for_source) state_.now_in = ReaderState::reading;
  if (!adopted_) adopt(*topic);
  compare(*topic, found);
  // What was polled before this was asked, and answered before this was answered, is of this very topic.
  if (latest_taken_ < tag) dirty_ = false;
}

SourceIdentity DurableReading::identity_of(const TopicState& topic) const {
  const auto stream = stream_.value_or(StreamState{});  // read before its topic, always
  SourceIdentity identity{stream.id, stream.created_at_micros, topic.id, topic.created_at_micros, {}};
  for (const auto& partition : topic.partitions)
    identity.partitions.push_back({partition.id, partition.created_at_micros});
  return identity;
}

void DurableReading::adopt(const TopicState& topic) {
  adopted_ = true;
  logs_.clear();
  if (!state_.from) {
    for (const auto& position : state_.positions) logs_.emplace_back(position);
    return;
  }
  if (const auto* given = std::get_if<Positions>(&*state_.from)) {
    for (const auto& position : *given) logs_.emplace_back(position);
    return;
  }
  identity_.reset();
  const bool from_now = std::get<Start>(*state_.from) == Start::now;
  for (const auto& partition : topic.partitions)
    logs_.emplace_back(Position{partition.id, from_now ? partition.end() : 0, false}, from_now);
}

bool DurableReading::reborn(const TopicPartition& partition, const SourceIdentity& found) const {
  if (!identity_) return false;
  if (!identity_->same_topic(found)) return true;
  for (const auto& held : identity_->partitions)
    if (held.id == partition.id) return held.created_at_micros != partition.created_at_micros;
  return false;
}

void DurableReading::compare(const TopicState& topic, const SourceIdentity& found) {
  const auto is_reborn = [&](const TopicPartition& partition) { return reborn(partition, found); };
  if ((identity_ && !identity_->same_topic(found)) ||
      std::any_of(topic.partitions.begin(), topic.partitions.end(), is_reborn)) {
    // Records taken in this read may be of the new life already: they are dropped, and read again from where
    // that life starts.
    roll_back();
    for (auto& log : logs_) log.begin_round();
    if (!adopted_) adopt(topic);
  }
  const bool other_topic = identity_ && !identity_->same_topic(found);
  std::vector<PartitionLog> next;
  auto log = logs_.begin();
  const auto gone = [&](const PartitionLog& one) {
    gaps_.push_back({one.position.partition, one.position.next, std::nullopt,
                     other_topic ? GapReason::recreated : GapReason::partition_removed});
    if (one.tag != 0) --in_flight_;
  };
  for (const auto& partition : topic.partitions) {
    for (; log != logs_.end() && log->position.partition < partition.id; ++log) gone(*log);
    if (log == logs_.end() || log->position.partition != partition.id) {
      next.emplace_back(Position{partition.id, 0, false});
      continue;
    }
    next.push_back(*log++);
    if (is_reborn(partition)) {
      if (next.back().tag != 0) --in_flight_;
      next.back().recreated();
    } else {
      next.back().on_topic_record(partition);
    }
  }
  for (; log != logs_.end(); ++log) gone(*log);
  for (std::size_t index = 0; index < next.size(); ++index)
    next[index].context = topic.partitions[index].context;
  logs_ = std::move(next);
  cursor_ = 0;
  identity_ = found;
}

void DurableReading::on_poll(PartitionLog& log, const Reply& reply, Now now) {
  const auto asked = log.asking;
  log.asking = Need::nothing;
  if (reply.outcome != Outcome::ok) {
    if (log.attempts.again(reply, now)) {
      log.not_before = log.attempts.retry_at();
    } else if (TopicSource::means_gone(reply) && ++log.refusals <= most_refusals) {
      topic_wanted_ = true;
      log.not_before = now.mono_micros + micros_from_ms(100) * log.refusals;
    } else {
      state_.fail(failure_of(reply));
    }
    return;
  }
  log.attempts.reset();
  iggy::PollReply polled(reply.payload, state_.dialect);
  if (!read_messages(polled)) return;
  const auto head = polled.current_offset();
  const auto first = messages_.empty() ? std::nullopt : std::optional(messages_.front().offset);
  switch (asked) {
    case Need::first: {
      const auto lost = state_.options.on_history_lost;
      log.on_first(first, head, lost, gaps_, now);
      dirty_ = true;
      break;
    }
    case Need::last: log.on_last(first, now); break;
    default:
      if (messages_.empty())
        log.on_empty(head, now);
      else
        take(log, head);
  }
  if (log.need == Need::topic) topic_wanted_ = true;
}

void DurableReading::take(PartitionLog& log, std::uint64_t head) {
  auto expected = log.position.next;
  for (const auto& message : messages_) {
    if (message.offset < expected) return state_.fail(broken(Rule::unexpected_outcome));
    expected = after(message.offset);
  }
  std::size_t taken = 0;
  log.advance(messages_, head, state_.options.on_history_lost, gaps_,
              [&](const iggy::PolledMessage& message) {
                const auto size = iggy::kMessageHeaderSize + message.payload.size() + message.headers.size();
                if (bytes_ > 0 && bytes_ + size > state_.options.byte_cap) {
                  full_ = true;
                  return false;
                }
                bytes_ += size;
                ++records_;
                ++taken;
                return true;
              });
  messages_.resize(taken);
  state_.collector.take(log.position.partition, messages_);
  dirty_ = true;
  if (taken > 0) state_.now_in = ReaderState::reading;
}

void DurableReading::settle(Now now) {
  if (!state_.under_way || next_round_at_ || wants_defer_ || defer_tag_ != 0) return;
  if (in_flight_ > 0 || stream_tag_ != 0 || topic_tag_ != 0 || topic_wanted_ || !have_topic_) return;
  const bool something = state_.collector.count() > 0 || !gaps_.empty();
  bool all_read = !full_;
  for (const auto& log : logs_) {
    if (log.need == Need::nothing) continue;
    // Lost history that is known and not yet named may not be passed by a batch.
    if (log.need == Need::first) return;
    // What has to wait is left for the next read when there is something to hand over.
    if (!full_ && !(something && now.mono_micros < log.not_before)) return;
    all_read = false;
  }
  if (!something && wait_ > 0 && !full_) {
    was_caught_up_ = true;
    state_.now_in = ReaderState::idle;
    if (may_defer(now))
      wants_defer_ = true;
    else
      next_round_at_ = now.mono_micros + wait_;
    return;
  }
  if (dirty_) {
    topic_wanted_ = true;
    return;
  }
  was_caught_up_ = all_read;
  if (all_read) state_.now_in = ReaderState::idle;
  commit(all_read);
}

void DurableReading::commit(bool caught_up) {
  auto& batch = state_.batch;
  state_.collector.finish(true);
  committed_logs_ = logs_;
  if (adopted_) {
    committed_adopted_ = true;
    state_.from.reset();
    state_.positions.clear();
    for (const auto& log : logs_) state_.positions.push_back(log.position);
  }
  state_.identity = identity_;
  batch.positions = state_.positions;
  batch.identity = state_.identity;
  batch.caught_up = caught_up;
  batch.gaps = gaps_;
  batch.unread_partitions = unread_;
  batch.skipped.malformed += state_.collector.skipped().malformed;
  batch.skipped.version += state_.collector.skipped().version;
  batch.skipped.other_index += state_.collector.skipped().other_index;
  state_.end(ReadOutcome::batch);
}

std::optional<std::uint64_t> DurableReading::poll_deadline() const {
  if (!state_.under_way) return std::nullopt;
  std::optional<std::uint64_t> earliest = next_round_at_;
  const auto consider = [&earliest](std::uint64_t at) { earliest = earliest ? std::min(*earliest, at) : at; };
  if (next_round_at_) return earliest;
  if (stream_tag_ != 0 || topic_tag_ != 0 || defer_tag_ != 0) return std::nullopt;
  if (topic_wanted_) {
    consider(topic_attempts_.retry_at());
    return earliest;
  }
  if (in_flight_ >= max_in_flight) return std::nullopt;
  for (const auto& log : logs_)
    if (log.tag == 0 && asks(log)) consider(log.not_before);
  return earliest;
}

void DurableReading::expire(Now now) { settle(now); }

}  // namespace tidemark::feed
