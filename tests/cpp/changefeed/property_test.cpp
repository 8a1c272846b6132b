#include <algorithm>
#include <array>
#include <cstdlib>

#include "changefeed/support.hpp"
#include "machine/random.hpp"

// Random inputs, late answers and clock jumps against a small model that knows only what was promised: what
// may be asked for when, where a stream is to be opened, and what was reached. TIDEMARK_RUNS sets how many
// runs.
namespace tidemark::changefeed::test {
namespace {

constexpr std::uint64_t kNowhere = UINT64_MAX;

struct Place {
  std::array<std::uint8_t, 8> bytes{};
  explicit Place(std::uint64_t number) {
    for (std::size_t at = 0; at < 8; ++at) bytes[at] = static_cast<std::uint8_t>(number >> (8 * at));
  }
  PositionView view() const { return bytes; }
};

std::uint64_t number(std::optional<PositionView> place) {
  if (!place) return kNowhere;
  std::uint64_t value = 0;
  for (std::size_t at = 0; at < place->size(); ++at) value |= std::uint64_t{(*place)[at]} << (8 * at);
  return value;
}

// The log that is followed: changes are numbered, a place is the number of the change it lies after.
struct Log {
  std::uint64_t first = 0;  // the earliest place that can be resumed
  std::uint64_t head = 0;
};

// What was promised, in the plainest words.
struct Model {
  bool running = false, handling = false, held = false, stopping = false;
  std::uint64_t reached = kNowhere;
  std::uint64_t stream = 0;     // generation of the one stream that may be open or opening, 0: none
  bool open = false;            // it has opened
  bool was_open = false;        // some stream has, in this run
  bool reading = false;         // next() is with the source
  std::uint64_t at = 0;         // place of the stream, after what it has said
  std::optional<Kind> pending;  // said, not handed over
  bool gap = false;             // lost history of which the handler does not know
  std::uint64_t gap_time = 0;
  std::uint64_t lost = kNowhere;
  std::uint32_t resets = 0;
  std::uint32_t failures = 0;
  std::uint64_t due = 0, opened_at = 0;
  Reason reason = Reason::none;
  bool set_changed = false;
  std::uint32_t set = 1;  // which collections, as bits
  std::uint64_t change_time = 0;
  std::optional<Outcome> ended;
  std::optional<Reason> reopened;
  bool must_close = false;
};

class Run {
 public:
  explicit Run(std::uint64_t seed)
      : random_(Random::Seed{seed, 0x9E3779B97F4A7C15, seed * 31 + 1, 5}),
        consumer_({}, Random::Seed{seed, 1, 2, 3}) {
    consumer_.set_watched(set_of(model_.set), now_);
  }

  // Empty, or what was broken.
  std::string go(int steps) {
    for (int step = 0; step < steps && wrong_.empty(); ++step) {
      input();
      drain();
    }
    return wrong_;
  }
  std::uint64_t handled_changes = 0, gaps = 0, wakes = 0, ends = 0;

 private:
  std::uint64_t pick(std::uint64_t bound) { return (random_.next() >> 11) % bound; }
  bool chance(std::uint64_t percent) { return pick(100) < percent; }
  void check(bool holds, const char* what) {
    if (!holds && wrong_.empty()) wrong_ = what;
  }
  static WatchSet set_of(std::uint32_t bits) {
    static const std::array<WatchSet, 4> sets{watching({}), watching({"a"}), watching({"b"}),
                                              watching({"a", "b"})};
    return sets[bits];
  }

  void pass(std::uint64_t mono, std::uint64_t wall) {
    now_.mono_micros += mono;
    now_.wall_micros += wall;
  }
  // Whatever looks at the clocks finds out that the machine slept.
  void look() {
    const auto slept = wall_ahead_ > Consumer::wake_micros;
    wall_ahead_ = 0;
    if (!slept) return;
    ++wakes;
    woken();
  }
  void woken() {
    model_.failures = 0;
    if (!model_.stream) model_.due = std::min(model_.due, now_.mono_micros);
  }

  void input() {
    switch (pick(14)) {
      case 0: return start();
      case 1:
        if (!chance(15)) return;
        look();
        consumer_.stop(now_);
        if (!model_.running) return;
        if (model_.handling) {
          model_.stopping = true;
        } else {
          end(Outcome::stopped);
        }
        return;
      case 2: return change_set(static_cast<std::uint32_t>(pick(4)));
      case 3:
        if (!chance(30)) return;
        model_.held = !model_.held;
        return consumer_.hold(model_.held);
      case 4: {
        const auto some = pick(6'000'000);
        return pass(some, some);
      }
      case 5: return jump();
      case 6:
        if (const auto deadline = consumer_.poll_deadline(); deadline && *deadline > now_.mono_micros)
          pass(*deadline - now_.mono_micros, *deadline - now_.mono_micros);
        return;
      case 7:
        log_.head += pick(4);
        if (chance(20)) log_.first = log_.first + pick(log_.head - log_.first + 1);
        return;
      case 8: return late_answer();
      case 9:
        if (!chance(10)) return;
        consumer_.wake(now_);
        return woken();
      default: return answer();
    }
  }

  void jump() {
    if (chance(50)) {
      const auto wall = pick(4 * Consumer::wake_micros);
      pass(0, wall);
      wall_ahead_ = wall;
      // The next look decides; here it comes at once, so that two jumps do not add up.
      return drain();
    }
    now_.wall_micros -= pick(10'000'000);
    drain();
  }

  void start() {
    look();
    const bool from = chance(70);
    const auto place =
        log_.first > 2 && chance(20) ? log_.first - 2 : log_.first + pick(log_.head - log_.first + 1);
    const auto resumed = last_result_ != kNowhere && chance(70) ? last_result_ : place;
    const Place start(resumed);
    const bool started = consumer_.run(from ? std::optional(start.view()) : std::nullopt, now_);
    check(started == !model_.running, "a run starts exactly when none is under way");
    if (!started) return;
    const Model before = model_;
    model_ = {};
    model_.set = before.set;
    model_.held = before.held;
    model_.running = true;
    model_.reached = from ? resumed : kNowhere;
    model_.due = now_.mono_micros;
  }

  void change_set(std::uint32_t bits) {
    look();
    consumer_.set_watched(set_of(bits), now_);
    if (bits == model_.set) return;
    model_.set = bits;
    if (!model_.running) return;
    if (model_.handling) {
      model_.set_changed = true;
    } else if (model_.stream) {
      again(Reason::set_changed, now_.mono_micros);
    } else if (model_.was_open) {
      model_.reason = std::max(model_.reason, Reason::set_changed);
    }
  }

  void again(Reason reason, std::uint64_t due) {
    if (reason != Reason::set_changed || model_.was_open) model_.reason = std::max(model_.reason, reason);
    model_.due = due;
    model_.set_changed = false;
    drop();
  }
  void drop() {
    model_.must_close = model_.stream != 0;
    model_.stream = 0;
    model_.open = model_.reading = false;
    model_.pending.reset();
  }
  void end(Outcome outcome) {
    drop();
    model_.running = model_.handling = false;
    model_.ended = outcome;
  }

  void answer() {
    if (model_.handling) return chance(97) ? handled() : throws();
    if (!model_.stream) return;
    if (!model_.open) return answer_open();
    if (model_.reading) return answer_next();
  }

  void answer_open() {
    if (chance(15)) return fails();
    if (chance(4)) return loses();
    if (asked_ == From::position && model_.reached < log_.first) return loses();
    look();
    model_.at = asked_ == From::position ? model_.reached : log_.head;
    const Place place(model_.at);
    consumer_.opened(static_cast<std::uint32_t>(model_.stream), place.view(), now_);
    model_.open = model_.was_open = true;
    model_.opened_at = now_.mono_micros;
    if (model_.reason != Reason::none) model_.reopened = model_.reason;
    model_.reason = Reason::none;
    if (model_.reached == kNowhere && !model_.gap) model_.reached = model_.at;
  }

  void answer_next() {
    if (chance(8)) return fails();
    if (model_.at < log_.first) return loses();
    const bool quiet = model_.at == log_.head || chance(20);
    if (model_.at < log_.head) ++model_.at;
    const Place after(model_.at);
    look();
    const auto generation = static_cast<std::uint32_t>(model_.stream);
    if (quiet) {
      check(consumer_.idle(generation, after.view(), now_), "a moved position that was asked for is taken");
      model_.pending = Kind::idle;
    } else {
      const std::uint64_t age = pick(2'000'000);
      model_.change_time = chance(10) ? now_.wall_micros + age : now_.wall_micros - age;
      const Outline outline{static_cast<Op>(pick(5)), chance(20), chance(50), chance(50), model_.change_time};
      check(consumer_.change(generation, outline, after.view(), now_),
            "a change that was asked for is taken");
      admission_ = admit(outline);
      model_.pending = Kind::change;
    }
    model_.reading = false;
  }

  void fails() {
    look();
    if (model_.open && now_.mono_micros - model_.opened_at >= 5'000'000) model_.failures = 0;
    check(consumer_.next_attempt(now_) == model_.failures + 1, "attempts are counted from the last success");
    ++model_.failures;
    if (chance(3)) {
      consumer_.failed(static_cast<std::uint32_t>(model_.stream),
                       {SourceFailure::Kind::fatal, false, std::nullopt}, now_);
      return end(Outcome::source_failed);
    }
    consumer_.failed(static_cast<std::uint32_t>(model_.stream), error, now_);
    again(Reason::error, now_.mono_micros + wait());
  }
  std::uint64_t wait() const {
    static constexpr std::array<std::uint64_t, 7> waits{100, 200, 400, 800, 1600, 3200, 5000};
    return micros_from_ms(waits[std::min<std::size_t>(model_.failures - 1, 6)]);
  }

  void loses() {
    look();
    model_.resets = model_.resets > 0 && model_.lost == model_.reached ? model_.resets + 1 : 1;
    model_.lost = model_.reached;
    if (!model_.gap) model_.gap_time = now_.wall_micros;
    model_.gap = true;
    const bool stood = model_.open && now_.mono_micros - model_.opened_at >= 5'000'000;
    consumer_.failed(static_cast<std::uint32_t>(model_.stream), history_lost, now_);
    if (model_.resets == 3) return end(Outcome::history_lost);
    if (model_.resets == 1) return again(Reason::history_lost, now_.mono_micros);
    if (stood) model_.failures = 0;
    ++model_.failures;
    again(Reason::history_lost, now_.mono_micros + wait());
  }

  void handled() {
    look();
    consumer_.handled(now_);
    model_.handling = false;
    model_.reached = model_.at;
    if (current_ == Kind::gap) {
      model_.gap = false;
    } else {
      model_.failures = 0;
    }
    if (current_ == Kind::change) {
      model_.resets = 0;
      ++handled_changes;
      due_event_ = true;
      due_lag_ = now_.wall_micros > model_.change_time ? now_.wall_micros - model_.change_time : 0;
    }
    if (model_.stopping) return end(Outcome::stopped);
    if (model_.set_changed) again(Reason::set_changed, now_.mono_micros);
  }
  void throws() {
    look();
    consumer_.handler_failed(now_);
    end(Outcome::handler_failed);
  }

  // What an old stream still has to say, or one that was not asked, changes nothing.
  void late_answer() {
    look();
    const auto old = static_cast<std::uint32_t>(model_.stream == 0 ? last_generation_ : model_.stream - 1);
    const Place place(pick(1000));
    switch (pick(4)) {
      case 0: return consumer_.opened(old, place.view(), now_);
      case 1: return check(!consumer_.change(old, {}, place.view(), now_), "a late change is not taken");
      case 2: return check(!consumer_.idle(old, place.view(), now_), "a late position is not taken");
      default: return consumer_.failed(old, history_lost, now_);
    }
  }

  bool may_open() const {
    return model_.running && model_.stream == 0 && model_.set != 0 && now_.mono_micros >= model_.due &&
           (!model_.held || model_.reason == Reason::set_changed);
  }

  void drain() {
    for (int count = 0; wrong_.empty(); ++count) {
      look();
      const auto action = consumer_.poll(now_);
      if (action.kind == Kind::none) break;
      check(count < 12, "polling comes to an end");
      take(action);
    }
    check(number(consumer_.position()) == model_.reached, "the position is the one reached");
    check(!model_.must_close, "a dropped stream is closed");
    check(!model_.ended, "an ended run says so");
    check(!may_open(), "a due opening is made");
    check(!model_.reopened && !due_event_ && !due_lag_, "observers are told");
    if (model_.running && model_.open && !model_.held && !model_.handling)
      check(model_.reading, "an open stream is read");
    if (model_.running && !model_.stream && model_.set != 0 &&
        (!model_.held || model_.reason == Reason::set_changed)) {
      check(consumer_.poll_deadline() == model_.due, "the deadline is when the opening is due");
    } else {
      check(!consumer_.poll_deadline(), "nothing is due while nothing may be opened");
    }
  }

  void take(const Action& action) {
    const bool handing = action.kind == Kind::change || action.kind == Kind::idle || action.kind == Kind::gap;
    if (handing) {
      check(model_.running && !model_.handling && !model_.held, "the handler is called one call at a time");
      check(!model_.must_close, "an old stream is closed before anything else");
      current_ = action.kind;
    }
    switch (action.kind) {
      case Kind::close:
        check(model_.must_close, "only a dropped stream is closed");
        model_.must_close = false;
        return;
      case Kind::open:
        check(may_open(), "a stream is opened when it is due, and only one");
        check(!model_.must_close, "an old stream is closed before another is opened");
        check(action.generation > last_generation_, "each stream has a name of its own");
        asked_ = action.from;
        check(asked_ == (model_.gap || model_.reached == kNowhere ? From::now : From::position),
              "a stream is opened after the position, and from now where there is none");
        model_.stream = last_generation_ = action.generation;
        return;
      case Kind::next:
        check(model_.open && !model_.reading && !model_.pending && !model_.handling && !model_.held &&
                  !model_.gap,
              "one event is asked for at a time");
        check(action.generation == model_.stream, "the open stream is read");
        model_.reading = true;
        return;
      case Kind::change:
      case Kind::idle:
        check(model_.pending == action.kind, "what came is handed over");
        check(!model_.gap, "a gap comes before what follows it");
        check(model_.at <= model_.reached + 1, "no change is passed over");
        if (action.kind == Kind::change)
          check(action.admission == admission_, "a change is admitted as promised");
        model_.pending.reset();
        model_.handling = true;
        return;
      case Kind::gap:
        check(model_.gap && model_.open, "a gap is told when its stream is open");
        check(number(consumer_.gap_position()) == model_.reached, "a gap names the position that was lost");
        check(action.micros == model_.gap_time, "a gap names its time");
        model_.handling = true;
        ++gaps;
        return;
      case Kind::feed_reopened:
        check(model_.reopened == action.reason, "the reason of a reopening is told");
        model_.reopened.reset();
        return;
      case Kind::feed_event:
        check(due_event_, "an event is told once");
        due_event_ = false;
        return;
      case Kind::feed_lag:
        check(due_lag_ == action.micros, "the lag is the wall clock over the change's time");
        due_lag_.reset();
        return;
      case Kind::feed_state:
        check(action.open == model_.open, "the feed's state is told as it is");
        check(action.watched == (model_.set & 1) + (model_.set >> 1), "and how much is watched");
        return;
      case Kind::finished:
        check(model_.ended == action.outcome, "a run ends as it was ended");
        check(!model_.must_close, "and its stream is closed");
        model_.ended.reset();
        last_result_ = number(consumer_.position());
        ++ends;
        return;
      case Kind::none: return;
    }
  }

  Random random_;
  Consumer consumer_;
  Model model_;
  Log log_{0, 5};
  Now now_{1'000'000'000, 1'700'000'000'000'000};
  std::uint64_t wall_ahead_ = 0;
  From asked_ = From::now;
  Kind current_ = Kind::none;
  Admission admission_;
  std::uint64_t last_generation_ = 0;
  std::uint64_t last_result_ = kNowhere;
  bool due_event_ = false;
  std::optional<std::uint64_t> due_lag_;
  std::string wrong_;
};

TEST_CASE("random inputs and clock jumps never part the consumer from its model") {
  const char* given = std::getenv("TIDEMARK_RUNS");
  const std::uint64_t runs = given != nullptr ? std::strtoull(given, nullptr, 10) : 100'000;
  std::uint64_t handled = 0, gaps = 0, wakes = 0, ends = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Run run(seed);
    const auto wrong = run.go(150);
    if (!wrong.empty()) {
      INFO("seed " << seed);
      FAIL(wrong);
    }
    handled += run.handled_changes, gaps += run.gaps, wakes += run.wakes, ends += run.ends;
  }
  // The runs went where something can go wrong.
  CHECK(handled > runs);
  CHECK(gaps > runs / 10);
  CHECK(wakes > runs);
  CHECK(ends > runs / 5);
}

}  // namespace
}  // namespace tidemark::changefeed::test
