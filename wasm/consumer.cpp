#include <emscripten/bind.h>

#include <optional>
#include <string>

#include "bytes/tape.hpp"
#include "changefeed/consumer.hpp"
#include "changefeed/lazy.hpp"
#include "descriptor.hpp"

// The changefeed consumer and its sharing, as numbers. js/core/consumer.ts is the same list in TypeScript.
namespace tidemark::wasm {
namespace {

using namespace changefeed;

std::uint64_t micros(double ms) { return ms > 0 ? static_cast<std::uint64_t>(ms * 1000.0) : 0; }
Now at(double mono, double wall) { return {micros(mono), micros(wall)}; }
double ms_or_none(std::optional<std::uint64_t> deadline) {
  return deadline ? static_cast<double>(*deadline) / 1000.0 : -1;
}

class ConsumerCore {
 public:
  static constexpr std::size_t most_input = 1024 * 1024;

  std::uint32_t input(std::uint32_t length) { return input_.room(length, most_input); }
  std::uint32_t descriptor() const { return descriptor_.where(); }

  // Tape: first and longest wait in ms, what to do about lost history, the seed's four parts.
  void start(std::uint32_t length) {
    ConsumerOptions options;
    auto word = tape::Value{input_.first(length)}.first();
    const auto number = [&word] {
      std::uint64_t value = 0;
      word.to_u64(value);
      word = word.next();
      return value;
    };
    options.backoff.first_micros = micros_from_ms(number());
    options.backoff.longest_micros = micros_from_ms(number());
    options.on_history_lost = static_cast<OnHistoryLost>(number() % 3);
    Random::Seed seed{};
    for (auto& part : seed) part = number();
    consumer_.emplace(options, seed);
  }
  // Tape: realm, database, name and whether it is a system collection, of one after another.
  void watch(std::uint32_t length, double mono, double wall) {
    const tape::Value list{input_.first(length)};
    WatchSet set;
    auto item = list.first();
    for (auto left = list.count() / 4; left > 0; --left) {
      Collection collection;
      for (auto* part : {&collection.realm, &collection.database, &collection.name}) {
        *part = item.text();
        item = item.next();
      }
      collection.system = item.boolean();
      item = item.next();
      set.add(std::move(collection));
    }
    consumer_->set_watched(std::move(set), at(mono, wall));
  }

  std::uint32_t run(std::uint32_t has_position, std::uint32_t length, double mono, double wall) {
    std::optional<PositionView> from;
    if (has_position != 0) from = input_.first(length);
    return consumer_->run(from, at(mono, wall)) ? 1 : 0;
  }
  void stop(double mono, double wall) { consumer_->stop(at(mono, wall)); }
  void hold(std::uint32_t held) { consumer_->hold(held != 0); }
  void wake(double mono, double wall) { consumer_->wake(at(mono, wall)); }

  void opened(std::uint32_t generation, std::uint32_t length, double mono, double wall) {
    consumer_->opened(generation, input_.first(length), at(mono, wall));
  }
  // `outline`: the op, and as bits 8 system, 16 before, 32 after. `at_micros` is exact below 2^53.
  std::uint32_t change(std::uint32_t generation, std::uint32_t outline, double at_micros,
                       std::uint32_t length, double mono, double wall) {
    const Outline about{static_cast<Op>(outline & 7), (outline & 8) != 0, (outline & 16) != 0,
                        (outline & 32) != 0, at_micros > 0 ? static_cast<std::uint64_t>(at_micros) : 0};
    return consumer_->change(generation, about, input_.first(length), at(mono, wall)) ? 1 : 0;
  }
  std::uint32_t idle(std::uint32_t generation, std::uint32_t length, double mono, double wall) {
    return consumer_->idle(generation, input_.first(length), at(mono, wall)) ? 1 : 0;
  }
  // `kind`: of SourceFailure, and as bit 4 a shared cause. No `delay_ms` of its own: negative.
  void failed(std::uint32_t generation, std::uint32_t kind, double delay_ms, double mono, double wall) {
    SourceFailure failure{static_cast<SourceFailure::Kind>(kind & 3), (kind & 4) != 0, std::nullopt};
    if (delay_ms >= 0) failure.delay_micros = micros(delay_ms);
    consumer_->failed(generation, failure, at(mono, wall));
  }
  std::uint32_t next_attempt(double mono, double wall) { return consumer_->next_attempt(at(mono, wall)); }
  void handled(double mono, double wall) { consumer_->handled(at(mono, wall)); }
  void handler_failed(double mono, double wall) { consumer_->handler_failed(at(mono, wall)); }

  // The kind of an action, its parts in the descriptor.
  std::uint32_t poll(double mono, double wall) {
    const auto action = consumer_->poll(at(mono, wall));
    auto& words = descriptor_.reset();
    words.put(action.generation);
    words.put(static_cast<std::uint32_t>(action.from));
    words.put(static_cast<std::uint32_t>(action.reason));
    words.put(static_cast<std::uint32_t>(action.outcome));
    words.put(action.open ? 1U : 0U);
    words.put(action.watched);
    words.put(static_cast<std::uint32_t>(action.op));
    words.put(action.system ? 1U : 0U);
    const auto& admission = action.admission;
    words.put((admission.outline_only ? 1U : 0U) | (admission.complete ? 2U : 0U) |
              (admission.field_names ? 4U : 0U));
    words.put(static_cast<std::uint32_t>(action.micros));
    words.put(static_cast<std::uint32_t>(action.micros >> 32));
    return static_cast<std::uint32_t>(action.kind);
  }
  double deadline() const { return ms_or_none(consumer_->poll_deadline()); }

  // 1 with address and length in the descriptor; 0: there is none.
  std::uint32_t position() { return place(consumer_->position()); }
  std::uint32_t gap_position() { return place(consumer_->gap_position()); }

 private:
  std::uint32_t place(std::optional<PositionView> position) {
    descriptor_.reset();
    if (!position) return 0;
    descriptor_.put(*position);
    return 1;
  }

  Input input_;
  Descriptor descriptor_;
  std::optional<Consumer> consumer_;
};

class LazyCore {
 public:
  explicit LazyCore(double grace_ms) : lazy_(micros(grace_ms)) {}
  std::uint32_t acquire() { return lazy_.acquire(); }
  std::uint32_t release(std::uint32_t subscriber, double mono, double wall) {
    return lazy_.release(subscriber, at(mono, wall)) ? 1 : 0;
  }
  void close() { lazy_.close(); }
  void ended() { lazy_.ended(); }
  std::uint32_t poll(double mono, double wall) {
    return static_cast<std::uint32_t>(lazy_.poll(at(mono, wall)));
  }
  double deadline() const { return ms_or_none(lazy_.poll_deadline()); }

 private:
  Lazy lazy_;
};

}  // namespace

EMSCRIPTEN_BINDINGS(consumer) {
  emscripten::class_<ConsumerCore>("Consumer")
      .constructor<>()
      .function("input", &ConsumerCore::input)
      .function("descriptor", &ConsumerCore::descriptor)
      .function("start", &ConsumerCore::start)
      .function("watch", &ConsumerCore::watch)
      .function("run", &ConsumerCore::run)
      .function("stop", &ConsumerCore::stop)
      .function("hold", &ConsumerCore::hold)
      .function("wake", &ConsumerCore::wake)
      .function("opened", &ConsumerCore::opened)
      .function("change", &ConsumerCore::change)
      .function("idle", &ConsumerCore::idle)
      .function("failed", &ConsumerCore::failed)
      .function("nextAttempt", &ConsumerCore::next_attempt)
      .function("handled", &ConsumerCore::handled)
      .function("handlerFailed", &ConsumerCore::handler_failed)
      .function("poll", &ConsumerCore::poll)
      .function("deadline", &ConsumerCore::deadline)
      .function("position", &ConsumerCore::position)
      .function("gapPosition", &ConsumerCore::gap_position);
  emscripten::class_<LazyCore>("Lazy")
      .constructor<double>()
      .function("acquire", &LazyCore::acquire)
      .function("release", &LazyCore::release)
      .function("close", &LazyCore::close)
      .function("ended", &LazyCore::ended)
      .function("poll", &LazyCore::poll)
      .function("deadline", &LazyCore::deadline);
}

}  // namespace tidemark::wasm
