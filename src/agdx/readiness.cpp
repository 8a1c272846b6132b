#include "agdx/readiness.hpp"

#include <algorithm>

namespace tidemark::agdx {

namespace {

constexpr std::uint64_t pause = micros_from_ms(100);
// A probe gets at least this long, so that the first one can answer even without a timeout.
constexpr std::uint64_t shortest_probe = micros_from_ms(1'000);

std::uint64_t later(std::uint64_t now, std::uint64_t by) {
  return by > UINT64_MAX - now ? UINT64_MAX : now + by;
}

}  // namespace

std::optional<Request> Readiness::poll_request(Now now) {
  if (finished_ || wake_at_) return std::nullopt;
  if (!end_at_) end_at_ = later(now.mono_micros, timeout_micros_);
  if (!probe_) {
    const auto left = *end_at_ > now.mono_micros ? *end_at_ - now.mono_micros : 0;
    probe_.emplace(capabilities_, std::clamp(left, shortest_probe, micros_from_ms(30'000)));
  }
  return probe_->poll_request(now);
}

void Readiness::on_reply(std::uint32_t tag, const Reply& reply, Now now) {
  if (finished_ || !probe_) return;
  probe_->on_reply(tag, reply, now);
  probe_.reset();
  if (reply.outcome == Outcome::cancelled) return end(FailureKind::cancelled);
  if (capabilities_.backends_ready()) {
    finished_ = true;
    return;
  }
  const bool failed = capabilities_.hello() == Hello::failed;
  if (!failed && !capabilities_.has_backends()) return end(FailureKind::unsupported);
  if (now.mono_micros >= *end_at_) return end(FailureKind::timeout);
  wake_at_ = std::min(later(now.mono_micros, pause), *end_at_);
}

std::optional<std::uint64_t> Readiness::poll_deadline() const { return finished_ ? std::nullopt : wake_at_; }

void Readiness::expire(Now now) {
  if (wake_at_ && now.mono_micros >= *wake_at_) wake_at_.reset();
}

void Readiness::cancel() {
  if (!finished_) end(FailureKind::cancelled);
}

void Readiness::end(FailureKind kind) {
  finished_ = true;
  failure_.emplace();
  failure_->kind = kind;
  if (kind != FailureKind::unsupported) return;
  failure_->surface = "hello";
  failure_->feature = "backends";
}

}  // namespace tidemark::agdx
