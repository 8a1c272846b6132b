#include "iggy/session.hpp"

#include <algorithm>
#include <utility>

#include "iggy/operation.hpp"

namespace tidemark::iggy {

namespace {

constexpr std::uint32_t kNever = 31;  // doublings that no bound survives

Cause cause_of(Cause::Kind kind, std::uint32_t code = 0) {
  Cause cause;
  cause.kind = kind;
  cause.code = code;
  return cause;
}

Cause broken(Error error) {
  Cause cause = cause_of(Cause::Kind::protocol);
  cause.error = error;
  return cause;
}

}  // namespace

Session::Session(SessionOptions options, Random::Seed seed) : options_(std::move(options)), random_(seed) {
  if (options_.dialects.empty()) options_.dialects = {Dialect::s11};
  preferred_ = dialect_ = options_.dialects.front();
}

Session::~Session() { wipe_secrets(); }

// --- Verbs
// -----------------------------------------------------------------------------------------------------------

void Session::connect(Now now) {
  observe(now);
  if (state_ != SessionState::idle) return;
  gave_up_ = false;
  attempts_ = waits_ = 0;
  if (pauses_.empty()) {
    dial(now);
  } else {
    enter(SessionState::paused);
  }
}

void Session::opened(std::uint32_t generation, Now now) {
  observe(now);
  if (!is_current(generation) || state_ != SessionState::dialing) return;
  heard_at_ = now.mono_micros;
  phase_deadline_ = 0;
  enter(SessionState::authenticating);
  if (resumable()) return send_bind();
  ask_for_credentials(now);
}

void Session::receive(std::uint32_t generation, std::span<const std::uint8_t> bytes, Now now) {
  observe(now);
  if (!is_current(generation) || !live()) return;
  heard_at_ = now.mono_micros;
  Frame frame;
  auto error = Frame::parse(bytes, defaults::kMaxFrame, frame);
  if (!error && frame.kind() == FrameKind::request) {
    error.rule = Rule::frame_command;
    error.position = 60;
  }
  if (error) {
    disconnect(broken(error), Redial::local, true, now);
  } else if (frame.kind() == FrameKind::eviction) {
    on_eviction(frame.eviction(), now);
  } else if (state_ == SessionState::ready) {
    on_reply(frame.reply(), frame.body(), now);
  } else {
    on_login_reply(frame.reply(), frame.body(), now);
  }
  tick(now);
}

void Session::lost(std::uint32_t generation, Lost info, Now now) {
  observe(now);
  if (!is_current(generation)) return;
  if (info.broken == Rule::none)
    return disconnect(cause_of(Cause::Kind::transport, info.close_code), Redial::remote, false, now);
  Error error;
  error.rule = info.broken;
  disconnect(broken(error), Redial::local, true, now);
}

void Session::pause(std::string_view reason, Now now) {
  observe(now);
  if (std::find(pauses_.begin(), pauses_.end(), reason) != pauses_.end()) return;
  pauses_.emplace_back(reason);
  if (has_socket()) {
    disconnect(cause_of(Cause::Kind::local), Redial::at_once, true, now);
  } else if (state_ == SessionState::waiting) {
    enter(SessionState::paused);
  }
}

void Session::resume(std::string_view reason, Now now) {
  observe(now);
  const auto found = std::find(pauses_.begin(), pauses_.end(), reason);
  if (found != pauses_.end()) pauses_.erase(found);
  if (!pauses_.empty() || state_ != SessionState::paused) return;
  attempts_ = waits_ = 0;
  dial(now);
}

void Session::wake(Wake cause, Now now) {
  observe(now);
  if (state_ == SessionState::waiting) {
    if (cause == Wake::call) {
      // A busy application must not undo the spreading of clients: one attempt per wait that ran its course.
      if (std::exchange(fired_by_call_, true)) return;
    } else {
      attempts_ = waits_ = 0;
    }
    dial(now);
  } else if (state_ == SessionState::ready && cause != Wake::call && cause != Wake::focus &&
             probe_deadline_ == 0 && now.mono_micros - heard_at_ >= defaults::kProbe &&
             watchdog_at() <= heard_at_ + options_.watchdog) {
    // Not while a managed call holds the line: its answer comes first and the ping would be late without a
    // fault.
    prove(now);
  }
}

void Session::reconnect(Now now) {
  observe(now);
  if (state_ == SessionState::closed) return;
  gave_up_ = false;
  attempts_ = waits_ = 0;
  if (has_socket()) {
    disconnect(cause_of(Cause::Kind::local), Redial::at_once, true, now);
  } else if (!pauses_.empty()) {
    if (state_ != SessionState::paused) enter(SessionState::paused);
  } else {
    dial(now);
  }
}

void Session::close(Now now) {
  observe(now);
  if (state_ == SessionState::closed) return;
  give_up(cause_of(Cause::Kind::local), SessionState::closed);
}

void Session::expire(Now now) {
  observe(now);
  tick(now);
}

// --- Time
// ------------------------------------------------------------------------------------------------------------

// The clocks moved apart, or nobody called for long after the time that was asked for: the machine slept, and
// what looks like an open connection may be none.
void Session::observe(Now now) {
  const auto due = poll_deadline();
  const auto before = std::exchange(last_now_, now);
  if (!before) return;
  const auto mono = static_cast<std::int64_t>(now.mono_micros - before->mono_micros);
  const auto wall = static_cast<std::int64_t>(now.wall_micros - before->wall_micros);
  const auto apart = wall > mono ? wall - mono : mono - wall;
  const bool late = due && now.mono_micros > *due + defaults::kClockJump;
  if (!late && apart <= static_cast<std::int64_t>(defaults::kClockJump)) return;
  on_wake(now);
  // What fell due meanwhile would look like another sleep, to every call until the timer comes.
  expire_requests(now);
}

void Session::on_wake(Now now) {
  switch (state_) {
    case SessionState::ready:
      // A doubt that is already under way keeps its deadline, or a throttled timer would renew it for ever.
      if (probe_deadline_ == 0) prove(now);
      break;
    case SessionState::dialing:
    case SessionState::authenticating:
      disconnect(cause_of(Cause::Kind::woke), Redial::at_once, true, now);
      break;
    case SessionState::waiting:
      attempts_ = waits_ = 0;
      dial(now);
      break;
    default: break;
  }
}

void Session::prove(Now now) {
  heard_at_ = now.mono_micros;  // the probe decides now, not the watchdog
  probe_deadline_ = now.mono_micros + defaults::kProbe;
  ping_queued_ = true;
  ping_number_ = 0;
}

// A live but idle server is heard at least this often: a shorter watchdog needs earlier pings.
std::uint64_t Session::ping_interval() const {
  return std::min(defaults::kPingInterval, options_.watchdog / 3);
}

std::uint64_t Session::watchdog_at() const {
  auto at = std::max(heard_at_ + options_.watchdog, stretched_until_);
  for (const auto& pending : pending_)
    if (pending.phase == Phase::in_flight && is_managed(pending.command))
      at = std::max(at, pending.deadline + defaults::kWatchdogManagedGrace);
  return at;
}

void Session::tick(Now now) {
  const auto mono = now.mono_micros;
  if (phase_deadline_ != 0 && mono >= phase_deadline_) {
    const bool dialing = state_ == SessionState::dialing;
    disconnect(cause_of(dialing ? Cause::Kind::timeout : Cause::Kind::credentials), Redial::remote, true,
               now);
  } else if (state_ == SessionState::waiting && mono >= dial_at_) {
    fired_by_call_ = false;
    dial(now);
  } else if (state_ == SessionState::authenticating && login_sent_) {
    if (mono >= watchdog_at()) {
      disconnect(cause_of(Cause::Kind::timeout), Redial::remote, true, now);
    } else if (login_again_at_ != 0 && mono >= login_again_at_) {
      login_again_at_ = 0;
      login_queued_ = true;
    }
  } else if (state_ == SessionState::ready) {
    if (probe_deadline_ != 0 ? mono >= probe_deadline_ : mono >= watchdog_at()) {
      const auto kind = probe_deadline_ != 0 ? Cause::Kind::woke : Cause::Kind::timeout;
      disconnect(cause_of(kind), Redial::local, true, now);
    } else {
      if (mono >= ping_at_) {
        ping_at_ = mono + ping_interval();
        if (ping_number_ == 0) ping_queued_ = true;
      }
      if (awaits_deferred() && mono >= ping_sent_at_ + defaults::kHeldLine) release_line();
    }
  }
  expire_requests(now);
}

std::optional<std::uint64_t> Session::poll_deadline() const {
  std::optional<std::uint64_t> earliest;
  const auto consider = [&](std::uint64_t at) {
    if (at != 0 && (!earliest || at < *earliest)) earliest = at;
  };
  consider(phase_deadline_);
  if (state_ == SessionState::waiting) consider(dial_at_);
  if (state_ == SessionState::authenticating && login_sent_) {
    consider(watchdog_at());
    consider(login_again_at_);
  }
  if (state_ == SessionState::ready) {
    consider(probe_deadline_ != 0 ? probe_deadline_ : watchdog_at());
    consider(ping_at_);
    if (awaits_deferred()) consider(ping_sent_at_ + defaults::kHeldLine);
  }
  for (const auto& pending : pending_) {
    consider(pending.deadline);
    if (pending.phase == Phase::pausing) consider(pending.again_at);
  }
  return earliest;
}

// --- Transitions
// -----------------------------------------------------------------------------------------------------

SessionEvent& Session::emit(SessionEvent::Type type) {
  auto& event = events_.emplace_back();
  event.type = type;
  event.generation = generation_;
  event.state = state_;
  event.dialect = dialect_;
  event.attempts = state_ == SessionState::ready ? 0 : attempts_;
  return event;
}

std::optional<SessionEvent> Session::poll_event() {
  if (events_taken_ == events_.size()) {
    events_.clear();
    events_taken_ = 0;
    return std::nullopt;
  }
  return events_[events_taken_++];
}

void Session::enter(SessionState state, const Cause& cause) {
  state_ = state;
  auto& event = emit(SessionEvent::Type::state);
  event.cause = cause;
  if (state == SessionState::waiting) event.dial_at_micros = dial_at_;
}

void Session::dial(Now now, const Cause& cause) {
  reset_connection();
  generation_ += 1;
  phase_deadline_ = now.mono_micros + options_.connect_timeout;
  enter(SessionState::dialing, cause);
  emit(SessionEvent::Type::dial);
}

void Session::reset_connection() {
  wipe_secrets();
  binding_ = login_queued_ = login_sent_ = false;
  login_again_at_ = login_transient_since_ = 0;
  cancels_.clear();
  ping_queued_ = line_proven_ = false;
  ping_number_ = 0;
  phase_deadline_ = probe_deadline_ = stretched_until_ = 0;
  if (!resumable()) forget_session();
}

std::uint64_t Session::redial_wait() {
  if (options_.loopback) {
    if (waits_ == 0) return 0;
    const auto longest = std::min(defaults::kLoopbackRedialFirst << std::min(waits_ - 1, kNever),
                                  defaults::kLoopbackRedialLongest);
    return jitter(longest);
  }
  const auto longest = std::min(defaults::kRedialFirst << std::min(waits_, kNever), defaults::kRedialLongest);
  return random_.below(longest + 1);
}

void Session::disconnect(const Cause& cause, Redial redial, bool tell_driver, Now now) {
  const bool served = state_ == SessionState::ready;
  if (served && now.mono_micros - ready_at_ >= defaults::kStable) attempts_ = waits_ = 0;
  if (tell_driver) emit(SessionEvent::Type::drop);
  reset_connection();
  give_back_in_flight();
  if (!pauses_.empty()) return enter(SessionState::paused, cause);
  const bool at_once = redial == Redial::at_once || (redial == Redial::local && served && attempts_ == 0);
  if (redial != Redial::at_once) attempts_ += 1;
  if (at_once) return dial(now, cause);
  const auto wait = redial_wait();
  waits_ += 1;
  if (wait == 0) return dial(now, cause);
  dial_at_ = now.mono_micros + wait;
  enter(SessionState::waiting, cause);
}

void Session::give_up(const Cause& cause, SessionState state) {
  if (has_socket()) emit(SessionEvent::Type::drop);
  forget_session();
  reset_connection();
  gave_up_ = true;
  while (!pending_.empty()) {
    Reply reply;
    reply.outcome = pending_.front().maybe_applied ? Outcome::unknown : Outcome::not_sent;
    finish(0, reply);
  }
  enter(state, cause);
}

}  // namespace tidemark::iggy
