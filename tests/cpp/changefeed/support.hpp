#pragma once

#include <catch2/catch_amalgamated.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "changefeed/consumer.hpp"

namespace tidemark::changefeed::test {

using Kind = Action::Kind;
using From = Action::From;
using Outcome = Action::Outcome;

inline PositionView bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string text(std::optional<PositionView> position) {
  return position ? std::string(position->begin(), position->end()) : std::string("(none)");
}

inline WatchSet watching(std::initializer_list<const char*> names) {
  WatchSet set;
  for (const auto* name : names) set.add({"realm", "database", name, false});
  return set;
}

// A consumer, two clocks that only the test moves, and what it asked for since the last look.
class Bench {
 public:
  explicit Bench(ConsumerOptions options = {}, WatchSet set = watching({"orders"}))
      : consumer(options, Random::Seed{7, 1, 2, 3}) {
    consumer.set_watched(std::move(set), now);
  }

  // Everything that there is to do now, and how the observer saw it.
  std::vector<Action> work() {
    std::vector<Action> actions;
    for (;;) {
      const auto action = consumer.poll(now);
      if (action.kind == Kind::none) return actions;
      (is_note(action.kind) ? notes : actions).push_back(action);
      REQUIRE(actions.size() < 10);  // a driver that is told the same thing for ever
    }
  }
  Action one() {
    const auto actions = work();
    REQUIRE(actions.size() == 1);
    return actions.front();
  }
  Action one(Kind kind) {
    const auto action = one();
    REQUIRE(action.kind == kind);
    return action;
  }
  void nothing() { REQUIRE(work().empty()); }

  void pass(std::uint64_t ms) {
    now.mono_micros += micros_from_ms(ms);
    now.wall_micros += micros_from_ms(ms);
  }

  // Runs, and has the stream opened.
  std::uint32_t open(std::optional<std::string_view> from = std::nullopt, std::string_view at = "p0") {
    REQUIRE(consumer.run(from ? std::optional(bytes(*from)) : std::nullopt, now));
    return answer_open(at);
  }
  std::uint32_t answer_open(std::string_view at) {
    const auto generation = one(Kind::open).generation;
    consumer.opened(generation, bytes(at), now);
    return generation;
  }
  void change(std::string_view after, Outline outline = {}) {
    const auto next = one(Kind::next);
    REQUIRE(consumer.change(next.generation, outline, bytes(after), now));
  }
  // One change from its source through the handler.
  void pass_change(std::string_view after, Outline outline = {}) {
    change(after, outline);
    one(Kind::change);
    consumer.handled(now);
  }
  // The source fails at what it was asked for last.
  void fail(SourceFailure failure = {}) {
    const auto actions = work();
    REQUIRE(!actions.empty());
    REQUIRE((actions.back().kind == Kind::next || actions.back().kind == Kind::open));
    consumer.failed(actions.back().generation, failure, now);
  }
  Action finished() {
    auto actions = work();
    REQUIRE(!actions.empty());
    REQUIRE(actions.back().kind == Kind::finished);
    return actions.back();
  }
  std::uint64_t wait_ms() const {
    const auto at = consumer.poll_deadline();
    REQUIRE(at.has_value());
    return (*at - now.mono_micros) / 1000;
  }
  std::vector<Reason> reopened() const {
    std::vector<Reason> reasons;
    for (const auto& note : notes)
      if (note.kind == Kind::feed_reopened) reasons.push_back(note.reason);
    return reasons;
  }
  static bool is_note(Kind kind) { return kind >= Kind::feed_state && kind <= Kind::feed_lag; }

  Consumer consumer;
  Now now{1'000'000'000, 1'700'000'000'000'000};
  std::vector<Action> notes;
};

inline constexpr SourceFailure error{};
inline constexpr SourceFailure history_lost{SourceFailure::Kind::history_lost, false, std::nullopt};

}  // namespace tidemark::changefeed::test
