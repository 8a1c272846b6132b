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
  // One input. What a number means depends on it; bytes lie in the input. One method for all: each costs
  // glue.
  std::uint32_t tell(std::uint32_t what, std::uint32_t generation, std::uint32_t detail, double number,
                     std::uint32_t length, double mono, double wall) {
    auto& consumer = *consumer_;
    const auto now = at(mono, wall);
    const auto bytes = input_.first(length);
    switch (static_cast<Told>(what)) {
      case Told::watch: consumer.set_watched(watch_set(bytes), now); break;
      case Told::run:  // `detail`: there is a position
        return consumer.run(detail != 0 ? std::optional<PositionView>(bytes) : std::nullopt, now) ? 1 : 0;
      case Told::stop: consumer.stop(now); break;
      case Told::hold: consumer.hold(detail != 0); break;
      case Told::wake: consumer.wake(now); break;
      case Told::opened: consumer.opened(generation, bytes, now); break;
      case Told::change: {
        // `detail`: the op, and as bits 8 system, 16 before, 32 after. `number`: its time in µs, exact below
        // 2^53.
        const Outline about{static_cast<Op>(detail & 7), (detail & 8) != 0, (detail & 16) != 0,
                            (detail & 32) != 0, number > 0 ? static_cast<std::uint64_t>(number) : 0};
        return consumer.change(generation, about, bytes, now) ? 1 : 0;
      }
      case Told::idle: return consumer.idle(generation, bytes, now) ? 1 : 0;
      case Told::failed: {
        // `detail`: the kind, and as bit 4 a shared cause. `number`: a delay of its own in ms, negative for
        // none.
        SourceFailure failure{static_cast<SourceFailure::Kind>(detail & 3), (detail & 4) != 0, std::nullopt};
        if (number >= 0) failure.delay_micros = micros(number);
        consumer.failed(generation, failure, now);
        break;
      }
      case Told::handled: consumer.handled(now); break;
      case Told::handler_failed: consumer.handler_failed(now); break;
      case Told::next_attempt: return consumer.next_attempt(now);
    }
    return 0;
  }

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

  // Of the position reached, or of the gap. 1 with address and length in the descriptor; 0: there is none.
  std::uint32_t position(std::uint32_t of_gap) {
    const auto position = of_gap != 0 ? consumer_->gap_position() : consumer_->position();
    descriptor_.reset();
    if (!position) return 0;
    descriptor_.put(*position);
    return 1;
  }

 private:
  // As INPUTS in js/core/consumer.ts.
  enum class Told : std::uint32_t {
    watch,
    run,
    stop,
    hold,
    wake,
    opened,
    change,
    idle,
    failed,
    handled,
    handler_failed,
    next_attempt,
  };

  // Tape: realm, database, name and whether it is a system collection, of one after another.
  static WatchSet watch_set(std::span<const std::uint8_t> bytes) {
    const tape::Value list{bytes};
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
    return set;
  }

  Input input_;
  Descriptor descriptor_;
  std::optional<Consumer> consumer_;
};

class LazyCore {
 public:
  // Once, before everything else.
  void start(double grace_ms) { lazy_.emplace(micros(grace_ms)); }
  // `what`: as LAZY_INPUTS in js/core/consumer.ts.
  std::uint32_t tell(std::uint32_t what, std::uint32_t subscriber, double mono, double wall) {
    const auto now = at(mono, wall);
    switch (what) {
      case 0: return lazy_->acquire();
      case 1: return lazy_->release(subscriber, now) ? 1 : 0;
      case 2: lazy_->close(); return 0;
      case 3: lazy_->ended(); return 0;
      default: return static_cast<std::uint32_t>(lazy_->poll(now));
    }
  }
  double deadline() const { return ms_or_none(lazy_->poll_deadline()); }

 private:
  std::optional<Lazy> lazy_;
};

}  // namespace

EMSCRIPTEN_BINDINGS(consumer) {
  constructor<ConsumerCore>("Consumer.new", "Consumer.delete");
  method<&ConsumerCore::input>("Consumer.input");
  method<&ConsumerCore::descriptor>("Consumer.descriptor");
  method<&ConsumerCore::start>("Consumer.start");
  method<&ConsumerCore::tell>("Consumer.tell");
  method<&ConsumerCore::poll>("Consumer.poll");
  method<&ConsumerCore::deadline>("Consumer.deadline");
  method<&ConsumerCore::position>("Consumer.position");
  constructor<LazyCore>("Lazy.new", "Lazy.delete");
  method<&LazyCore::start>("Lazy.start");
  method<&LazyCore::tell>("Lazy.tell");
  method<&LazyCore::deadline>("Lazy.deadline");
}

}  // namespace tidemark::wasm
