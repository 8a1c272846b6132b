#include "client/router.hpp"

#include <utility>

namespace tidemark::client {

Task* Router::find(std::uint32_t id) {
  for (const auto& entry : tasks_)
    if (entry.id == id) return entry.task.get();
  return nullptr;
}

void Router::withdraw(std::uint32_t id) {
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.id != id) return false;
    session_.cancel(one.ticket);
    return true;
  });
}

void Router::remove(std::uint32_t id) {
  std::erase_if(tasks_, [&](const Entry& entry) { return entry.id == id; });
  withdraw(id);
}

void Router::on_reply(iggy::Ticket ticket, std::uint32_t tag, const Reply& reply, Now now) {
  for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
    if (one->ticket != ticket) continue;
    const auto id = one->id;
    waiting_.erase(one);
    if (auto* task = find(id)) task->operation().on_reply(tag, reply, now);
    return;
  }
}

bool Router::submit(Now now) {
  bool any = false;
  for (auto& [id, task] : tasks_) {
    while (auto request = task->operation().poll_request(now)) {
      waiting_.push_back({session_.submit(std::move(*request), now), id});
      any = true;
    }
  }
  return any;
}

void Router::report(Events& events) {
  std::erase_if(tasks_, [&](const Entry& entry) {
    if (!entry.task->report(entry.id, events)) return false;
    withdraw(entry.id);
    return true;
  });
}

void Router::expire(Now now) {
  for (auto& [id, task] : tasks_) {
    const auto deadline = task->operation().poll_deadline();
    if (deadline && *deadline <= now.mono_micros) task->operation().expire(now);
  }
}

std::optional<std::uint64_t> Router::deadline() const {
  std::optional<std::uint64_t> earliest;
  for (const auto& [id, task] : tasks_) {
    const auto deadline = task->operation().poll_deadline();
    if (deadline && (!earliest || *deadline < *earliest)) earliest = deadline;
  }
  return earliest;
}

void Router::new_session(iggy::Dialect dialect) {
  for (auto& [id, task] : tasks_)
    if (task->new_session(dialect)) withdraw(id);
}

void Router::close(Events& events) {
  for (auto& [id, task] : tasks_) task->close(id, events);
  tasks_.clear();
  waiting_.clear();
}

}  // namespace tidemark::client
