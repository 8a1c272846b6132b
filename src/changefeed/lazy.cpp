#include "changefeed/lazy.hpp"

#include <algorithm>

namespace tidemark::changefeed {

std::uint32_t Lazy::acquire() {
  if (closed_) return 0;
  const auto subscriber = next_;
  next_ = next_ == UINT32_MAX ? 1 : next_ + 1;
  subscribers_.push_back(subscriber);
  return subscriber;
}

bool Lazy::release(std::uint32_t subscriber, Now now) {
  const auto at = std::find(subscribers_.begin(), subscribers_.end(), subscriber);
  if (at == subscribers_.end()) return false;
  subscribers_.erase(at);
  if (subscribers_.empty()) left_at_ = now.mono_micros;
  return true;
}

void Lazy::close() {
  closed_ = true;
  subscribers_.clear();
}

Lazy::Action Lazy::poll(Now now) {
  if (stopping_) return Action::none;
  if (!running_) {
    if (subscribers_.empty()) return Action::none;
    running_ = true;
    held_ = false;
    return Action::run;
  }
  if (!subscribers_.empty()) {
    if (!held_) return Action::none;
    held_ = false;
    return Action::resume;
  }
  if (closed_ || (now.mono_micros >= left_at_ && now.mono_micros - left_at_ >= grace_)) {
    stopping_ = true;
    return Action::stop;
  }
  if (held_) return Action::none;
  held_ = true;
  return Action::hold;
}

std::optional<std::uint64_t> Lazy::poll_deadline() const {
  if (!running_ || stopping_ || !subscribers_.empty()) return std::nullopt;
  return left_at_ + grace_;
}

}  // namespace tidemark::changefeed
