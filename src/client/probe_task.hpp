#pragma once

#include <vector>

#include "agdx/hello_probe.hpp"
#include "client/task.hpp"

namespace tidemark::client {

// One hello probe, for everybody who wants one while it is under way. It ends with a `capabilities` event,
// and a result for each ticket that waits.
class ProbeTask final : public Task {
 public:
  explicit ProbeTask(agdx::Capabilities& capabilities) : capabilities_(capabilities), probe_(capabilities) {}
  Operation& operation() override { return probe_; }
  bool report(std::uint32_t id, Events& events) override;
  void close(std::uint32_t id, Events& events) override;
  void wait(std::uint32_t ticket) { waiting_.push_back(ticket); }
  // False when the ticket does not wait here.
  bool leave(std::uint32_t ticket) { return std::erase(waiting_, ticket) > 0; }

 private:
  agdx::Capabilities& capabilities_;
  agdx::HelloProbe probe_;
  std::vector<std::uint32_t> waiting_;
};

}  // namespace tidemark::client
