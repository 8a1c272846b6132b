#pragma once

#include <cstdint>
#include <optional>

#include "bytes/tape.hpp"
#include "client/problem.hpp"
#include "iggy/command/command.hpp"
#include "machine/operation.hpp"

namespace tidemark::client {

struct CallOptions {
  std::uint64_t timeout_micros = 0;  // 0: the default
  bool ungated = false;
  // The stream or topic is to exist afterwards, whoever made it.
  bool ensure = false;
};

// One streaming command (below 1,000,000), from and to the tape. Reads repeat by themselves; a write whose
// answer got lost ends as `ambiguous`, but for an ensured one, which is looked up and, where missing, made
// again. It is written as the session that carries it speaks; on a server of 0.12.2 the partition that it is
// about is looked up before, and once more when it has another life by then.
class Call final : public Operation {
 public:
  Call(std::uint32_t command, tape::Value args, CallOptions options, iggy::Dialect dialect,
       const iggy::CommandSet& commands);

  // True when the command is to be sent anew, as this session speaks.
  bool new_session(iggy::Dialect dialect);
  bool done() const { return done_; }
  const std::optional<Problem>& problem() const { return problem_; }
  // One value on a tape, when done without a problem.
  const bytes::Buffer& value() const { return value_; }

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;

 private:
  enum class Step : std::uint8_t { call, look_up, route };

  void finish(Problem problem);
  void finish_null();
  void take(std::span<const std::uint8_t> payload);
  void looked_up(const Reply& reply);
  void routed(const Reply& reply);
  void prepare();
  bool has_context() const;
  Error encode_route(tape::Value args);
  Error encode_look_up(tape::Value args);
  bool ensured_already(const Reply& reply) const;

  std::uint32_t command_;
  CallOptions options_;
  iggy::Dialect dialect_;
  const iggy::CommandSet& commands_;
  bytes::Buffer args_;
  bytes::Buffer body_;
  PartitionContext context_;
  bool rerouted_ = false;
  bytes::Buffer look_up_body_;  // of the look-up, or of the route
  Step step_ = Step::call;
  bool asked_ = false;
  bool done_ = false;
  std::optional<std::uint64_t> give_up_at_;
  std::optional<Problem> problem_;
  bytes::Buffer value_;
};

}  // namespace tidemark::client
