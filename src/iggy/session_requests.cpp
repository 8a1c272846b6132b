#include <algorithm>
#include <utility>

#include "iggy/checksum.hpp"
#include "iggy/operation.hpp"
#include "iggy/reply.hpp"
#include "iggy/result_code.hpp"
#include "iggy/session.hpp"

namespace tidemark::iggy {

namespace {

Reply outcome(Outcome outcome, std::uint32_t code = 0) {
  Reply reply;
  reply.outcome = outcome;
  reply.code = code;
  return reply;
}

Reply malformed(Error error) {
  Reply reply;
  reply.outcome = Outcome::malformed;
  reply.error = error;
  return reply;
}

}  // namespace

Ticket Session::submit(Request&& request, Now now) {
  observe(now);
  Pending pending;
  pending.ticket = next_ticket_;
  next_ticket_ = next_ticket_ == UINT32_MAX ? 1 : next_ticket_ + 1;
  pending.command = request.command;
  pending.tag = request.tag;
  pending.repeat = request.repeat;
  pending.context = request.context;
  const auto timeout = request.timeout_micros == 0 ? options_.request_timeout : request.timeout_micros;
  pending.deadline = now.mono_micros + std::min(timeout, UINT64_MAX / 4);
  pending.frame = std::move(request.body);
  pending.frame.insert(pending.frame.begin(), kHeaderSize, 0);
  const auto ticket = pending.ticket;
  const bool too_large = pending.frame.size() > defaults::kMaxFrame;
  const bool reserved = operation_of(pending.command) == kRegister || pending.command == 0;
  pending_.push_back(std::move(pending));
  if (gave_up_ || too_large || reserved) {
    auto reply = outcome(Outcome::not_sent);
    if (too_large) reply.error.rule = Rule::frame_too_large;
    if (reserved) reply.error.rule = Rule::argument;
    finish(pending_.size() - 1, reply);
  }
  return ticket;
}

bool Session::cancel(Ticket ticket) {
  for (std::size_t index = 0; index < pending_.size(); ++index) {
    if (pending_[index].ticket != ticket) continue;
    leave_behind(pending_[index]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
  }
  return false;
}

std::optional<Outgoing> Session::poll_transmit(Now now) {
  if (state_ == SessionState::authenticating && login_queued_) {
    login_queued_ = false;
    heard_at_ = now.mono_micros;  // silence counts from here
    return Outgoing{generation_, login_};
  }
  if (state_ != SessionState::ready) return std::nullopt;
  if (ping_queued_) {
    ping_queued_ = false;
    ping_number_ = next_number_++;
    ping_sent_at_ = now.mono_micros;
    return control_frame(code::kPing, ping_number_);
  }
  if (!cancels_.empty()) {
    const auto number = cancels_.back();
    cancels_.pop_back();
    return control_frame(code::kCancelDeferred, number);
  }
  std::size_t in_flight = 0;
  for (const auto& pending : pending_) in_flight += pending.phase == Phase::in_flight ? 1 : 0;
  if (in_flight >= defaults::kMaxInFlight) return std::nullopt;
  for (std::size_t index = 0; index < pending_.size(); ++index) {
    auto& pending = pending_[index];
    if (pending.phase != Phase::queued || !may_send(pending)) continue;
    if (pending.numbered && !is_v12(dialect_) && is_partition_write(operation_of(pending.command)) &&
        pending.number < newest_partition_answer_) {
      // A server that remembers only the newest number of a session would take the old one for a repeat.
      if (pending.maybe_applied) {
        finish(index--, outcome(Outcome::unknown, 57));
        continue;
      }
      pending.numbered = false;
    }
    if (!pending.numbered) complete_frame(pending);
    pending.phase = Phase::in_flight;
    pending.maybe_applied = true;
    // Pings and waits have about one period: left to their phases, a held line might never be noticed.
    if (is_deferred(pending.command) && !line_proven_ && !options_.dedicated && ping_number_ == 0)
      ping_queued_ = true;
    return Outgoing{generation_, pending.frame};
  }
  return std::nullopt;
}

std::optional<Outgoing> Session::control_frame(std::uint32_t command, std::uint64_t number) {
  control_.assign(kHeaderSize, 0);
  RequestHeader header;
  header.client = client_;
  header.request = number;
  header.operation = kNonReplicated;
  header.session = session_;
  header.command_code = command;
  write_request_header(header, control_);
  return Outgoing{generation_, control_};
}

// One metadata write at a time is unresolved: a number that a later one has passed is gone for good.
bool Session::may_send(const Pending& pending) const {
  if (pending.numbered || !is_metadata_write(operation_of(pending.command))) return true;
  return std::none_of(pending_.begin(), pending_.end(), [](const Pending& other) {
    return other.numbered && is_metadata_write(operation_of(other.command));
  });
}

void Session::complete_frame(Pending& pending) {
  RequestHeader header;
  header.client = client_;
  header.session = session_;
  header.request = pending.number = next_number_++;
  header.operation = operation_of(pending.command);
  if (header.operation == kNonReplicated) header.command_code = pending.command;
  if (is_metadata_write(header.operation) || header.operation == kLogoutOperation) {
    header.request_checksum = is_v12(dialect_)
                                  ? random_.nonzero_u128()
                                  : tape::U128{xxh3_64(std::span(pending.frame).subspan(kHeaderSize)), 0};
  }
  if (is_v12(dialect_)) {
    header.partition_incarnation = pending.context.incarnation;
    header.minimum_metadata_op = pending.context.metadata_op;
  }
  write_request_header(header, pending.frame);
  pending.numbered = true;
}

void Session::on_reply(const ReplyHeader& header, std::span<const std::uint8_t> body, Now now) {
  // Only an answer to something sent since the doubt began ends it: older ones may have waited in a buffer.
  if (ping_number_ != 0 && header.request >= ping_number_) probe_deadline_ = 0;
  if (ping_number_ != 0 && header.request == ping_number_) {
    line_proven_ = line_proven_ || awaits_deferred();
    ping_number_ = 0;
    return;
  }
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    return pending.phase == Phase::in_flight && pending.number == header.request;
  });
  if (found == pending_.end()) {
    if (header.request < next_number_) return;  // timed out or cancelled meanwhile
    Cause cause;
    cause.kind = Cause::Kind::protocol;
    cause.error.rule = Rule::unexpected_reply;
    cause.error.position = 200;
    return disconnect(cause, Redial::local, true, now);
  }
  const auto index = static_cast<std::size_t>(found - pending_.begin());
  const auto sent = operation_of(found->command);
  if (is_partition_write(sent)) newest_partition_answer_ = std::max(newest_partition_answer_, header.request);
  if (is_metadata_write(sent)) watermark_ = std::max(watermark_, header.commit);
  if (!answers(header.operation, sent)) {
    Error error;
    error.rule = Rule::unexpected_reply;
    error.position = 208;
    return finish(index, malformed(error));
  }
  const auto answer = read_answer(header, body);
  if (answer.error) return finish(index, malformed(answer.error));
  if (!answer.ok) return on_refusal(index, answer.code, now);
  auto reply = outcome(Outcome::ok);
  reply.payload = answer.payload;
  finish(index, reply);
}

void Session::on_refusal(std::size_t index, std::uint32_t code, Now now) {
  auto& pending = pending_[index];
  switch (code_info(code).action) {
    case CodeAction::repeat:
      // Who asked for a read that waits asks in another way.
      if (is_deferred(pending.command)) break;
      return pause_for_transient(index, code, now);
    case CodeAction::repeat_identical:
    case CodeAction::other_node:  // reached by the same address, as soon as the primary is back there
      return pause_for_transient(index, code, now);
    case CodeAction::new_request:
      if (code != 88) break;
      pending.maybe_applied = pending.numbered = false;
      return pause_for_transient(index, code, now);
    case CodeAction::read_back: return finish(index, outcome(Outcome::unknown, code));
    case CodeAction::log_in: {
      // Refused before it was executed, for want of a session: a new login, and the request once more.
      if (pending.reauthenticated) break;
      pending.reauthenticated = true;
      pending.maybe_applied = false;
      Cause cause;
      cause.kind = Cause::Kind::refused;
      cause.code = code;
      return disconnect(cause, Redial::local, true, now);
    }
    default: break;
  }
  finish(index, outcome(Outcome::refused, code));
}

void Session::pause_for_transient(std::size_t index, std::uint32_t code, Now now) {
  auto& pending = pending_[index];
  if (pending.transient_since == 0) {
    pending.transient_since = now.mono_micros;
    pending.transient_pause = defaults::kTransientFirst;
  }
  if (code != 57) pending.maybe_applied = false;
  pending.again_at = now.mono_micros + jitter(pending.transient_pause);
  pending.transient_pause = std::min(pending.transient_pause * 2, defaults::kTransientLongest);
  pending.phase = Phase::pausing;
  if (pending.again_at < std::min(pending.deadline, pending.transient_since + defaults::kTransientBudget))
    return;
  finish(index, outcome(pending.maybe_applied ? Outcome::unknown : Outcome::refused, code));
}

// A deferred read in flight, and behind it a ping without an answer.
bool Session::awaits_deferred() const {
  return !options_.dedicated && ping_number_ != 0 &&
         std::any_of(pending_.begin(), pending_.end(), [this](const Pending& pending) {
           return pending.phase == Phase::in_flight && is_deferred(pending.command) &&
                  pending.number < ping_number_;
         });
}

// A server that keeps everything waiting behind a deferred read is not asked for one: it is taken back, and
// refused as by a server that has no room for it.
void Session::release_line() {
  emit(SessionEvent::Type::line_held);
  for (std::size_t index = 0; index < pending_.size(); ++index) {
    if (pending_[index].phase != Phase::in_flight || !is_deferred(pending_[index].command)) continue;
    leave_behind(pending_[index]);
    finish(index--, outcome(Outcome::refused, 90));
  }
}

void Session::queue_again(Pending& pending) {
  pending.phase = Phase::queued;
  pending.numbered = false;
  pending.number = 0;
  pending.transient_since = 0;
}

// After the loss of a connection: what may be repeated waits for the next one, the rest is told so.
void Session::give_back_in_flight() {
  for (std::size_t index = 0; index < pending_.size(); ++index) {
    auto& pending = pending_[index];
    if (!pending.numbered) continue;
    const auto operation = operation_of(pending.command);
    // The server tells by its number whether it has done it already.
    if (resumable() && (is_metadata_write(operation) || is_partition_write(operation))) {
      pending.phase = Phase::queued;
      continue;
    }
    if (pending.repeat == Repeat::freely || !pending.maybe_applied) {
      queue_again(pending);
    } else {
      finish(index--, outcome(Outcome::unknown));
    }
  }
}

// A server answers in order: a managed call that was given up here still holds the line there. A deferred
// read is taken back.
void Session::leave_behind(const Pending& pending) {
  if (pending.phase != Phase::in_flight) return;
  if (is_deferred(pending.command)) cancels_.push_back(pending.number);
  if (!is_managed(pending.command)) return;
  stretched_until_ = std::max(stretched_until_, pending.deadline + defaults::kWatchdogManagedGrace);
}

void Session::expire_requests(Now now) {
  for (std::size_t index = 0; index < pending_.size(); ++index) {
    auto& pending = pending_[index];
    if (now.mono_micros >= pending.deadline) {
      auto reply = outcome(pending.maybe_applied ? Outcome::unknown : Outcome::not_sent);
      reply.timed_out = true;
      leave_behind(pending);
      finish(index--, reply);
    } else if (pending.phase == Phase::pausing && now.mono_micros >= pending.again_at) {
      pending.phase = Phase::queued;
    }
  }
}

void Session::finish(std::size_t index, const Reply& reply) {
  auto& event = emit(SessionEvent::Type::reply);
  event.ticket = pending_[index].ticket;
  event.tag = pending_[index].tag;
  event.reply = reply;
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace tidemark::iggy
