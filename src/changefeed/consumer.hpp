#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bytes/writer.hpp"
#include "changefeed/backoff.hpp"
#include "changefeed/change.hpp"
#include "changefeed/watch_set.hpp"
#include "machine/now.hpp"
#include "machine/random.hpp"

namespace tidemark::changefeed {

using PositionView = std::span<const std::uint8_t>;

// Ascending by weight: of two causes of one reopening the heavier is told.
enum class Reason : std::uint8_t { none, set_changed, error, history_lost };

enum class OnHistoryLost : std::uint8_t { now, earliest, stop };

struct ConsumerOptions {
  Backoff backoff;
  OnHistoryLost on_history_lost = OnHistoryLost::now;
};

// What a source said when it could not open or go on.
struct SourceFailure {
  enum class Kind : std::uint8_t {
    error,         // may pass
    history_lost,  // the position is no longer there
    fatal,         // trying again is of no use
  };
  Kind kind = Kind::error;
  bool shared_cause = false;                  // likely to have hit other clients in the same moment
  std::optional<std::uint64_t> delay_micros;  // instead of the back-off's
};

// One thing for the driver to do. Those that name a generation are about the stream opened under it.
struct Action {
  enum class Kind : std::uint8_t {
    none,
    // of the source; answered by opened(), event() or failed(), but for close
    close,  // the stream, or the attempt to open it: whatever it still says is ignored
    open,   // `from`
    next,
    // of the handler, one at a time; answered by handled() or handler_failed()
    change,  // the event that was passed to event(), as `admission` says
    idle,
    gap,  // from gap_position() on, noticed at `micros` of the wall clock
    // of the observer; no answer
    feed_state,     // `open`, `watched`
    feed_reopened,  // `reason`
    feed_event,     // `op`, `system`
    feed_lag,       // `micros`
    // of the run
    finished,  // `outcome`; position() is the last one reached
  };
  enum class From : std::uint8_t { now, position, earliest };
  enum class Outcome : std::uint8_t { stopped, handler_failed, source_failed, history_lost, bad_position };

  Kind kind = Kind::none;
  std::uint32_t generation = 0;
  From from = From::now;
  Reason reason = Reason::none;
  Outcome outcome = Outcome::stopped;
  bool open = false;
  std::uint32_t watched = 0;
  Op op = Op::insert;
  bool system = false;
  Admission admission;
  std::uint64_t micros = 0;
};

// Follows the history of whatever a driver's source opens. It decides; streams, handlers and timers are the
// driver's, which calls poll() after every input until there is nothing to do, and again at poll_deadline().
//
// A position is reached when the handler is done with what lies before it: a stop, a failed handler, an error
// or another watched set in between make the change come again, and none is passed over.
class Consumer {
 public:
  static constexpr std::size_t max_position = std::size_t{64} * 1024;
  static constexpr std::uint32_t max_resets = 3;  // at one position, before the run gives up
  // The wall clock ahead of the monotonic one by this much since the last look: the machine slept.
  static constexpr std::uint64_t wake_micros = micros_from_ms(5'000);

  Consumer(ConsumerOptions options, Random::Seed seed) : options_(options), random_(seed) {}

  // Starts a run, from now without a position. False while one is under way.
  bool run(std::optional<PositionView> from, Now now);
  // Ends it; a handler at work is waited for.
  void stop(Now now);
  void set_watched(WatchSet set, Now now);
  // While held nothing is read, handed over or opened again after a failure.
  void hold(bool held) { held_ = held; }
  // Whatever was put off is due now.
  void wake(Now now);

  void opened(std::uint32_t generation, PositionView position, Now now);
  // False: it is not expected (any more) and was dropped.
  bool change(std::uint32_t generation, const Outline& outline, PositionView after, Now now);
  bool idle(std::uint32_t generation, PositionView after, Now now);
  void failed(std::uint32_t generation, const SourceFailure& failure, Now now);
  void handled(Now now);
  void handler_failed(Now now);

  Action poll(Now now);
  std::optional<std::uint64_t> poll_deadline() const;

  std::optional<PositionView> position() const;
  // Empty when the history was lost before any position was known.
  std::optional<PositionView> gap_position() const;
  const WatchSet& watched() const { return watched_; }
  // Of the failure that comes next, counted from the last success: what a back-off of the driver's own is
  // asked with.
  std::uint32_t next_attempt(Now now) const { return attempts_at(now) + 1; }

 private:
  enum class Phase : std::uint8_t { off, due, opening, ready, reading, pending, handling, done };
  enum class Work : std::uint8_t { change, idle, gap };

  void look(Now now);
  bool stream_open() const { return phase_ >= Phase::ready && phase_ <= Phase::handling; }
  bool may_open() const;
  bool expects(std::uint32_t generation, Phase phase) const;
  bool take(PositionView after);
  void reopen(Reason reason, std::uint64_t at);
  void drop_stream();
  void finish(Action::Outcome outcome);
  std::uint32_t attempts_at(Now now) const;
  void lose_history();
  bool observe(Action& action);
  void step(Action& action, Now now);

  ConsumerOptions options_;
  Random random_;
  WatchSet watched_;
  Phase phase_ = Phase::off;
  Work work_ = Work::change;
  bool held_ = false;
  bool stopping_ = false;
  bool set_changed_ = false;  // while the handler was at work
  bool was_open_ = false;     // in this run

  std::uint32_t generation_ = 0;
  std::uint32_t to_close_ = 0;
  std::uint64_t open_at_ = 0;
  std::uint64_t opened_at_ = 0;
  std::uint32_t attempts_ = 0;
  Reason reason_ = Reason::none;  // of the opening that comes or is under way
  Action::Outcome outcome_ = Action::Outcome::stopped;

  bool has_position_ = false;
  bytes::Buffer position_;   // reached
  bytes::Buffer candidate_;  // reached when the handler is done
  bool gap_pending_ = false;
  std::uint64_t gap_at_ = 0;
  std::uint32_t resets_ = 0;
  bool lost_any_ = false;
  bool lost_position_known_ = false;
  bytes::Buffer lost_position_;
  Outline outline_;
  Admission admission_;

  // What observers have not been told.
  bool state_told_ = false;
  bool told_open_ = false;
  std::uint32_t told_watched_ = 0;
  Reason untold_reopening_ = Reason::none;
  bool untold_event_ = false;
  std::optional<std::uint64_t> untold_lag_;

  bool looked_ = false;
  Now last_look_;
};

}  // namespace tidemark::changefeed
