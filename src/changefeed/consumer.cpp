#include "changefeed/consumer.hpp"

#include <algorithm>
#include <utility>

namespace tidemark::changefeed {
namespace {

Reason heavier(Reason a, Reason b) { return std::max(a, b); }

}  // namespace

bool Consumer::run(std::optional<PositionView> from, Now now) {
  if (phase_ != Phase::off) return false;
  look(now);
  has_position_ = from.has_value();
  position_.clear();
  if (from) position_.assign(from->begin(), from->end());
  stopping_ = set_changed_ = was_open_ = false;
  gap_pending_ = lost_any_ = false;
  attempts_ = resets_ = 0;
  reason_ = untold_reopening_ = Reason::none;
  untold_event_ = state_told_ = false;
  untold_lag_.reset();
  open_at_ = now.mono_micros;
  phase_ = Phase::due;
  if (position_.size() > max_position) finish(Action::Outcome::bad_position);
  return true;
}

void Consumer::stop(Now now) {
  look(now);
  if (phase_ == Phase::handling) {
    stopping_ = true;
  } else if (phase_ != Phase::off && phase_ != Phase::done) {
    finish(Action::Outcome::stopped);
  }
}

void Consumer::set_watched(WatchSet set, Now now) {
  look(now);
  if (set == watched_) return;
  watched_ = std::move(set);
  switch (phase_) {
    case Phase::off:
    case Phase::done: break;
    case Phase::handling: set_changed_ = true; break;
    case Phase::due:
      // It opens when it would have: a failing source is not asked more often for it.
      if (was_open_) reason_ = heavier(reason_, Reason::set_changed);
      break;
    default: reopen(Reason::set_changed, now.mono_micros);
  }
}

void Consumer::wake(Now now) {
  attempts_ = 0;
  if (phase_ == Phase::due) open_at_ = std::min(open_at_, now.mono_micros);
}

void Consumer::look(Now now) {
  if (looked_) {
    const auto elapsed =
        now.mono_micros > last_look_.mono_micros ? now.mono_micros - last_look_.mono_micros : 0;
    const auto wall = now.wall_micros > last_look_.wall_micros ? now.wall_micros - last_look_.wall_micros : 0;
    if (wall > elapsed && wall - elapsed > wake_micros) wake(now);
  }
  looked_ = true;
  last_look_ = now;
}

bool Consumer::expects(std::uint32_t generation, Phase phase) const {
  return phase_ == phase && generation == generation_;
}

void Consumer::opened(std::uint32_t generation, PositionView position, Now now) {
  look(now);
  if (!expects(generation, Phase::opening)) return;
  if (!take(position)) return;
  phase_ = Phase::ready;
  was_open_ = true;
  opened_at_ = now.mono_micros;
  untold_reopening_ = std::exchange(reason_, Reason::none);
  // After lost history the new place is reached when the handler has been told of the gap.
  if (!has_position_ && !gap_pending_) {
    position_.swap(candidate_);
    has_position_ = true;
  }
}

bool Consumer::take(PositionView after) {
  if (after.size() > max_position) {
    finish(Action::Outcome::bad_position);
    return false;
  }
  candidate_.assign(after.begin(), after.end());
  return true;
}

bool Consumer::change(std::uint32_t generation, const Outline& outline, PositionView after, Now now) {
  look(now);
  if (!expects(generation, Phase::reading) || !take(after)) return false;
  outline_ = outline;
  admission_ = admit(outline);
  work_ = Work::change;
  phase_ = Phase::pending;
  return true;
}

bool Consumer::idle(std::uint32_t generation, PositionView after, Now now) {
  look(now);
  if (!expects(generation, Phase::reading) || !take(after)) return false;
  work_ = Work::idle;
  phase_ = Phase::pending;
  return true;
}

std::uint32_t Consumer::attempts_at(Now now) const {
  // A stream that stood as long as the longest wait was a success, though nothing came of it.
  const bool stood = stream_open() && now.mono_micros >= opened_at_ &&
                     now.mono_micros - opened_at_ >= options_.backoff.longest_micros;
  return stood ? 0 : attempts_;
}

void Consumer::failed(std::uint32_t generation, const SourceFailure& failure, Now now) {
  look(now);
  // An event that has come is good whatever becomes of its stream: the next read meets the failure.
  if (!expects(generation, Phase::opening) && !expects(generation, Phase::ready) &&
      !expects(generation, Phase::reading)) {
    return;
  }
  if (failure.kind == SourceFailure::Kind::fatal) return finish(Action::Outcome::source_failed);
  auto reason = Reason::error;
  bool at_once = false;
  if (failure.kind == SourceFailure::Kind::history_lost) {
    reason = Reason::history_lost;
    lose_history();
    gap_at_ = gap_pending_ ? gap_at_ : now.wall_micros;
    gap_pending_ = true;
    if (options_.on_history_lost == OnHistoryLost::stop || resets_ >= max_resets)
      return finish(Action::Outcome::history_lost);
    at_once = resets_ == 1;
  }
  std::uint64_t delay = 0;
  if (!at_once) {
    attempts_ = attempts_at(now);
    if (attempts_ < UINT32_MAX) ++attempts_;
    delay = failure.delay_micros.value_or(failure.shared_cause ? options_.backoff.jittered(attempts_, random_)
                                                               : options_.backoff.delay(attempts_));
  }
  const auto at = now.mono_micros + delay;
  reopen(reason, at < delay ? UINT64_MAX : at);
}

void Consumer::lose_history() {
  const bool same_place =
      lost_any_ && lost_position_known_ == has_position_ && (!has_position_ || lost_position_ == position_);
  resets_ = same_place ? resets_ + 1 : 1;
  lost_any_ = true;
  lost_position_known_ = has_position_;
  lost_position_.assign(position_.begin(), position_.end());
}

void Consumer::reopen(Reason reason, std::uint64_t at) {
  drop_stream();
  set_changed_ = false;
  if (reason != Reason::set_changed || was_open_) reason_ = heavier(reason_, reason);
  open_at_ = at;
  phase_ = Phase::due;
}

void Consumer::drop_stream() {
  if (phase_ == Phase::opening || stream_open()) to_close_ = generation_;
}

void Consumer::handled(Now now) {
  look(now);
  if (phase_ != Phase::handling) return;
  position_.swap(candidate_);
  has_position_ = true;
  if (work_ == Work::gap) {
    gap_pending_ = false;
  } else {
    attempts_ = 0;
  }
  if (work_ == Work::change) {
    resets_ = 0;
    lost_any_ = false;
    untold_event_ = true;
    if (outline_.at_micros != 0) {
      untold_lag_ = now.wall_micros > outline_.at_micros ? now.wall_micros - outline_.at_micros : 0;
    }
  }
  if (stopping_) return finish(Action::Outcome::stopped);
  if (set_changed_) return reopen(Reason::set_changed, now.mono_micros);
  phase_ = Phase::ready;
}

void Consumer::handler_failed(Now now) {
  look(now);
  if (phase_ == Phase::handling) finish(Action::Outcome::handler_failed);
}

void Consumer::finish(Action::Outcome outcome) {
  drop_stream();
  outcome_ = outcome;
  phase_ = Phase::done;
}

bool Consumer::may_open() const { return !watched_.empty() && (!held_ || reason_ == Reason::set_changed); }

std::optional<std::uint64_t> Consumer::poll_deadline() const {
  if (phase_ != Phase::due || !may_open()) return std::nullopt;
  return open_at_;
}

Action Consumer::poll(Now now) {
  look(now);
  Action action;
  if (to_close_ != 0) {
    action.kind = Action::Kind::close;
    action.generation = std::exchange(to_close_, 0);
    return action;
  }
  if (phase_ != Phase::off && observe(action)) return action;
  step(action, now);
  return action;
}

bool Consumer::observe(Action& action) {
  if (untold_event_) {
    untold_event_ = false;
    action.kind = Action::Kind::feed_event;
    action.op = outline_.op;
    action.system = outline_.system;
    return true;
  }
  if (untold_lag_) {
    action.kind = Action::Kind::feed_lag;
    action.micros = *untold_lag_;
    untold_lag_.reset();
    return true;
  }
  const bool open = stream_open();
  if (!state_told_ || told_open_ != open || told_watched_ != watched_.size()) {
    state_told_ = true;
    told_open_ = action.open = open;
    told_watched_ = action.watched = watched_.size();
    action.kind = Action::Kind::feed_state;
    return true;
  }
  if (untold_reopening_ != Reason::none) {
    action.kind = Action::Kind::feed_reopened;
    action.reason = std::exchange(untold_reopening_, Reason::none);
    return true;
  }
  return false;
}

void Consumer::step(Action& action, Now now) {
  switch (phase_) {
    case Phase::due:
      if (!may_open() || now.mono_micros < open_at_) return;
      generation_ = generation_ == UINT32_MAX ? 1 : generation_ + 1;
      phase_ = Phase::opening;
      action.kind = Action::Kind::open;
      action.generation = generation_;
      if (gap_pending_) {
        action.from =
            options_.on_history_lost == OnHistoryLost::earliest ? Action::From::earliest : Action::From::now;
      } else if (has_position_) {
        action.from = Action::From::position;
      }
      return;
    case Phase::ready:
      if (held_) return;
      if (gap_pending_) {
        work_ = Work::gap;
        phase_ = Phase::handling;
        action.kind = Action::Kind::gap;
        action.micros = gap_at_;
        return;
      }
      phase_ = Phase::reading;
      action.kind = Action::Kind::next;
      action.generation = generation_;
      return;
    case Phase::pending:
      if (held_) return;
      phase_ = Phase::handling;
      action.kind = work_ == Work::idle ? Action::Kind::idle : Action::Kind::change;
      action.admission = admission_;
      return;
    case Phase::done:
      phase_ = Phase::off;
      action.kind = Action::Kind::finished;
      action.outcome = outcome_;
      return;
    default: return;
  }
}

std::optional<PositionView> Consumer::position() const {
  if (!has_position_) return std::nullopt;
  return position_;
}

std::optional<PositionView> Consumer::gap_position() const {
  if (!lost_position_known_) return std::nullopt;
  return lost_position_;
}

}  // namespace tidemark::changefeed
