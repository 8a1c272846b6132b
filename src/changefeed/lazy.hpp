#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/now.hpp"

namespace tidemark::changefeed {

// Shares one consumer among subscribers: runs it with the first, ends it some time after the last has left.
// The driver calls poll() after every input until there is nothing to do, and again at poll_deadline().
class Lazy {
 public:
  enum class Action : std::uint8_t {
    none,
    run,     // the consumer, from now; ended() follows some time
    stop,    // it
    hold,    // it: nobody listens
    resume,  // it
  };

  explicit Lazy(std::uint64_t grace_micros = micros_from_ms(30'000)) : grace_(grace_micros) {}

  // Names the subscriber; 0 after close().
  std::uint32_t acquire();
  // False when it was released before.
  bool release(std::uint32_t subscriber, Now now);
  // For good, whatever the subscribers.
  void close();
  // The consumer's run has ended, by itself or because it was stopped.
  void ended() { running_ = stopping_ = false; }

  Action poll(Now now);
  std::optional<std::uint64_t> poll_deadline() const;
  std::uint32_t subscribers() const { return static_cast<std::uint32_t>(subscribers_.size()); }

 private:
  std::uint64_t grace_;
  std::uint64_t left_at_ = 0;
  std::vector<std::uint32_t> subscribers_;
  std::uint32_t next_ = 1;
  bool running_ = false;
  bool stopping_ = false;
  bool held_ = false;
  bool closed_ = false;
};

}  // namespace tidemark::changefeed
