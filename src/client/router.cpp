#include "client/router.hpp"

#include <utility>

namespace tidemark::client {

Task* Router::find(std::uint32_t id) {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : found->second.get();
}

void Router::remove(std::uint32_t id) {
  tasks_.erase(id);
  withdraw(id);
}

void Router::withdraw(std::uint32_t id) {
  std::erase_if(waiting_, [&](const auto& entry) {
    if (entry.second != id) return false;
    session_.cancel(entry.first);
    return true;
  });
}

void Router::on_reply(iggy::Ticket ticket, std::uint32_t tag, const Reply& reply, Now now) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  const auto id = found->second;
  waiting_.erase(found);
  if (auto* task = find(id)) task->operation().on_reply(tag, reply, now);
}

bool Router::submit(Now now) {
  bool any = false;
  for (auto& [id, task] : tasks_) {
    while (auto request = task->operation().poll_request(now)) {
      waiting_.emplace(session_.submit(std::move(*request), now), id);
      any = true;
    }
  }
  return any;
}

void Router::report(Events& events) {
  std::erase_if(tasks_, [&](auto& entry) {
    if (!entry.second->report(entry.first, events)) return false;
    withdraw(entry.first);
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
