#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "feed/collector.hpp"
#include "feed/failure.hpp"
#include "feed/reader_options.hpp"
#include "feed/topic_source.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

inline constexpr std::uint32_t max_partitions = 1024;
inline constexpr std::uint32_t max_in_flight = 8;  // polls, one per partition

// What a reader keeps between reads, and what the read under way ends with.
struct ReadState {
  ReadState(ReaderOptions given, agdx::NameTable& names)
      : options(std::move(given)),
        source(options.stream, options.topic),
        collector(batch, names, options.index),
        from(options.from) {
    batch.content = options.content;
  }

  const ReaderOptions options;
  const TopicSource source;
  iggy::Dialect dialect = iggy::Dialect::s11;
  ReaderBatch batch;
  Collector collector;
  // Where to start, until a read has resolved it to positions.
  std::optional<std::variant<Start, Positions>> from;
  Positions positions;
  std::optional<SourceIdentity> identity;

  bool under_way = false;
  std::uint32_t next_tag = 1;
  std::optional<ReadOutcome> outcome;
  Failure failure;
  ReaderState reported = ReaderState::idle;
  ReaderState now_in = ReaderState::idle;

  std::uint32_t take_tag() {
    const auto tag = next_tag;
    next_tag = next_tag == UINT32_MAX ? 1 : next_tag + 1;  // 0 is no request
    return tag;
  }
  void fail(const Failure& why) {
    failure = why;
    end(ReadOutcome::failure);
  }
  void end(ReadOutcome how) {
    outcome = how;
    under_way = false;
  }
};

// A way to read: a strategy that turns replies into one batch.
class Reading {
 public:
  virtual ~Reading() = default;
  virtual void start(std::uint64_t wait_micros, Now now) = 0;
  // Forgets the read under way and every request of it.
  virtual void abandon() = 0;
  virtual void new_session() {}
  // `from` was replaced.
  virtual void seek() {}
  virtual std::optional<Request> poll_request(Now now) = 0;
  virtual void on_reply(std::uint32_t tag, const Reply& reply, Now now) = 0;
  virtual std::optional<std::uint64_t> poll_deadline() const = 0;
  virtual void expire(Now now) = 0;
};

// How often and when a request is made again after the connection failed under it: 5 attempts, pauses of 50,
// 100, 150 and 200 ms.
class Attempts {
 public:
  // True when there is to be another attempt, at `retry_at`.
  bool again(const Reply& reply, Now now) {
    if (reply.outcome != Outcome::unknown || reply.timed_out || ++made_ >= 5) return false;
    retry_at_ = now.mono_micros + micros_from_ms(50) * made_;
    return true;
  }
  void reset() { made_ = 0, retry_at_ = 0; }
  std::uint64_t retry_at() const { return retry_at_; }

 private:
  std::uint32_t made_ = 0;
  std::uint64_t retry_at_ = 0;
};

inline std::uint64_t after(std::uint64_t offset) { return offset == UINT64_MAX ? offset : offset + 1; }

}  // namespace tidemark::feed
