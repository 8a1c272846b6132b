#pragma once

#include <optional>

#include "agdx/capabilities.hpp"
#include "agdx/failure.hpp"
#include "agdx/hello_probe.hpp"
#include "machine/operation.hpp"

namespace tidemark::agdx {

// Probes every 100 ms until every enabled backend is ready (section 6.4 of the contract). Ends at once, as
// unsupported, when the server answers and has no backends; goes on when a probe brings no answer; ends as
// timeout. At least one probe is made, whatever the timeout.
class Readiness final : public Operation {
 public:
  Readiness(Capabilities& capabilities, std::uint64_t timeout_micros)
      : capabilities_(capabilities), timeout_micros_(timeout_micros) {}

  bool finished() const { return finished_; }
  // Nothing when finished well: the held capabilities are the result.
  const std::optional<Failure>& failure() const { return failure_; }
  void cancel();

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now now) override;

 private:
  void end(FailureKind kind);

  Capabilities& capabilities_;
  std::uint64_t timeout_micros_;
  std::optional<std::uint64_t> end_at_;
  std::optional<HelloProbe> probe_;
  std::optional<std::uint64_t> wake_at_;
  bool finished_ = false;
  std::optional<Failure> failure_;
};

}  // namespace tidemark::agdx
