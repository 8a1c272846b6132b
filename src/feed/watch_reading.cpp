#include "feed/watch_reading.hpp"

#include <algorithm>

namespace tidemark::feed {

void WatchReading::start(std::uint64_t, Now) {
  stale_ = 0;
  begin();
}

void WatchReading::begin() {
  abandon();
  state_.collector.clear();
  want_topic_ = true;
}

void WatchReading::abandon() {
  topic_tag_ = 0;
  want_topic_ = false;
  topic_attempts_.reset();
  drains_.clear();
  ready_.clear();
  retrying_.clear();
  in_flight_ = open_ = unread_ = 0;
  hit_cap_ = false;
}

std::optional<Request> WatchReading::poll_request(Now now) {
  if (!state_.under_way) return std::nullopt;
  if (want_topic_ && now.mono_micros >= topic_attempts_.retry_at()) {
    want_topic_ = false;
    topic_tag_ = state_.take_tag();
    return state_.source.get_topic(topic_tag_);
  }
  std::erase_if(retrying_, [&](std::uint32_t index) {
    if (now.mono_micros < drains_[index].attempts.retry_at()) return false;
    ready_.insert(ready_.begin(), index);
    return true;
  });
  if (ready_.empty() || in_flight_ >= max_in_flight) return std::nullopt;
  auto& drain = drains_[ready_.front()];
  ready_.erase(ready_.begin());
  ++in_flight_;
  drain.tag = state_.take_tag();
  return state_.source.poll(drain.tag, drain.position.partition, drain.context, iggy::StrategyKind::offset,
                            drain.position.next, std::min(state_.options.batch, drain_cap - drain.read));
}

void WatchReading::on_reply(std::uint32_t tag, const Reply& reply, Now now) {
  if (!state_.under_way || tag == 0) return;
  if (tag == topic_tag_) {
    topic_tag_ = 0;
    on_topic(reply, now);
    return;
  }
  const auto drain =
      std::find_if(drains_.begin(), drains_.end(), [tag](const Drain& one) { return one.tag == tag; });
  if (drain == drains_.end()) return;
  drain->tag = 0;
  --in_flight_;
  on_poll(*drain, reply, now);
}

void WatchReading::on_topic(const Reply& reply, Now now) {
  std::optional<TopicState> topic;
  if (!TopicSource::means_gone(reply)) {
    if (reply.outcome != Outcome::ok) {
      if (topic_attempts_.again(reply, now)) {
        want_topic_ = true;
        return;
      }
      state_.fail(failure_of(reply));
      return;
    }
    Error error;
    if (!TopicSource::read_topic(reply, state_.dialect, topic, error)) {
      state_.fail(failure_of(error));
      return;
    }
  }
  begin_drains(topic);
}

// Where a read starts is settled by the first topic record: "now" needs the ends of the partitions.
Positions WatchReading::resolved(const std::optional<TopicState>& topic) const {
  if (!state_.from) return state_.positions;
  if (const auto* given = std::get_if<Positions>(&*state_.from)) return *given;
  Positions positions;
  if (topic && std::get<Start>(*state_.from) == Start::now)
    for (const auto& partition : topic->partitions)
      positions.push_back({partition.id, partition.end(), false});
  return positions;
}

void WatchReading::begin_drains(const std::optional<TopicState>& topic) {
  positions_ = resolved(topic);
  const auto count = topic ? static_cast<std::uint32_t>(topic->partitions.size()) : 0;
  const auto read = std::min(count, max_partitions);
  unread_ = count - read;
  for (std::uint32_t partition = 0; partition < read; ++partition) {
    const auto at =
        std::lower_bound(positions_.begin(), positions_.end(), partition,
                         [](const Position& one, std::uint32_t id) { return one.partition < id; });
    if (at == positions_.end() || at->partition != partition) {
      drains_.push_back({.position = {partition, 0, false}, .attempts = {}});
    } else {
      drains_.push_back({.position = *at, .attempts = {}});
      positions_.erase(at);
    }
    if (topic) drains_.back().context = topic->partitions[partition].context;
    if (drains_.back().position.exhausted) {
      drains_.back().done = true;
      continue;
    }
    ready_.push_back(partition);
    ++open_;
  }
  // A topic that is not there leaves the start open: "now" is still to be found.
  if (!topic && state_.from && std::holds_alternative<Start>(*state_.from)) {
    finish();
    return;
  }
  if (open_ == 0) finish();
}

void WatchReading::on_poll(Drain& drain, const Reply& reply, Now now) {
  const auto index = static_cast<std::uint32_t>(&drain - drains_.data());
  if (reply.outcome != Outcome::ok) {
    if (TopicSource::is_stale(reply) && ++stale_ <= most_stale) return begin();
    if (drain.attempts.again(reply, now))
      retrying_.push_back(index);
    else
      state_.fail(failure_of(reply));
    return;
  }
  drain.attempts.reset();
  iggy::PollReply polled(reply.payload, state_.dialect);
  messages_.clear();
  iggy::PolledMessage message;
  while (polled.next(message)) messages_.push_back(message);
  if (polled.error()) {
    state_.fail(failure_of(polled.error()));
    return;
  }
  auto& position = drain.position;
  const auto taken = static_cast<std::uint32_t>(messages_.size());
  if (taken > 0) {
    state_.collector.take(position.partition, messages_);
    const auto last = messages_.back().offset;
    // A server that answers with what was already read would be asked for ever.
    if (last < position.next) {
      Error error;
      error.rule = Rule::unexpected_outcome;
      state_.fail(failure_of(error));
      return;
    }
    position.next = after(last);
    position.exhausted = last == UINT64_MAX;
    drain.read += taken;
  }
  const bool at_cap = drain.read >= drain_cap;
  drain.done = taken == 0 || at_cap || position.exhausted || position.next > polled.current_offset();
  hit_cap_ = hit_cap_ || (at_cap && position.next <= polled.current_offset() && !position.exhausted);
  if (!drain.done)
    ready_.push_back(index);
  else if (--open_ == 0)
    finish();
}

void WatchReading::finish() {
  auto& batch = state_.batch;
  state_.collector.finish(false);
  for (const auto& drain : drains_) positions_.push_back(drain.position);
  ascending(positions_);
  if (!drains_.empty() || !state_.from || std::holds_alternative<Positions>(*state_.from)) {
    state_.from.reset();
    state_.positions = positions_;
  }
  batch.positions = state_.positions;
  batch.identity.reset();
  batch.caught_up = !hit_cap_;
  batch.gaps.clear();
  batch.unread_partitions = unread_;
  batch.skipped.malformed += state_.collector.skipped().malformed;
  batch.skipped.version += state_.collector.skipped().version;
  batch.skipped.other_index += state_.collector.skipped().other_index;
  state_.end(ReadOutcome::batch);
}

std::optional<std::uint64_t> WatchReading::poll_deadline() const {
  if (!state_.under_way) return std::nullopt;
  std::optional<std::uint64_t> earliest;
  const auto consider = [&earliest](std::uint64_t at) { earliest = earliest ? std::min(*earliest, at) : at; };
  if (want_topic_) consider(topic_attempts_.retry_at());
  for (const auto index : retrying_) consider(drains_[index].attempts.retry_at());
  return earliest;
}

}  // namespace tidemark::feed
