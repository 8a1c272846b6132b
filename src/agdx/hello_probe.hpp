#pragma once

#include "agdx/capabilities.hpp"
#include "machine/operation.hpp"

namespace tidemark::agdx {

// Asks the server once what it serves (section 6.3 of the contract) and moves the held capabilities on. It
// cannot fail: a probe without a usable answer leaves the configured set, with `hello` saying so.
class HelloProbe final : public Operation {
 public:
  // `capabilities` must outlive the probe.
  explicit HelloProbe(Capabilities& capabilities, std::uint64_t timeout_micros = 0)
      : capabilities_(capabilities), timeout_micros_(timeout_micros) {}

  bool finished() const { return finished_; }

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;

 private:
  Capabilities& capabilities_;
  std::uint64_t timeout_micros_;
  bool asked_ = false;
  bool finished_ = false;
};

}  // namespace tidemark::agdx
