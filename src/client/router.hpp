#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/task.hpp"
#include "iggy/session.hpp"

namespace tidemark::client {

// Carries requests from many operations to one session, and each reply back to the operation that waits for
// it.
class Router {
 public:
  explicit Router(iggy::Session& session) : session_(session) {}

  // The number is never 0 and never given out again.
  std::uint32_t next_id() { return next_id_++; }
  void add(std::uint32_t id, std::unique_ptr<Task> task) { tasks_.push_back({id, std::move(task)}); }
  Task* find(std::uint32_t id);
  // Frees the task. What it has sent goes unanswered.
  void remove(std::uint32_t id);

  // Nobody waits for what the task has asked so far.
  void withdraw(std::uint32_t id);

  void on_reply(iggy::Ticket ticket, std::uint32_t tag, const Reply& reply, Now now);
  // Sends what operations want to send. True when there was something.
  bool submit(Now now);
  // Lets every task tell what is new, and frees those that are over.
  void report(Events& events);
  void expire(Now now);
  std::optional<std::uint64_t> deadline() const;
  void new_session(iggy::Dialect dialect);
  void close(Events& events);

 private:
  iggy::Session& session_;
  struct Entry {
    std::uint32_t id = 0;
    std::unique_ptr<Task> task;
  };
  struct Waiting {
    iggy::Ticket ticket = 0;
    std::uint32_t id = 0;  // whose request it is
  };

  std::vector<Entry> tasks_;  // few, in the order of their numbers
  std::vector<Waiting> waiting_;
  std::uint32_t next_id_ = 1;
};

}  // namespace tidemark::client
