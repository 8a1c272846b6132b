#pragma once

#include <optional>
#include <span>

#include "agdx/capabilities.hpp"
#include "agdx/command.hpp"
#include "agdx/failure.hpp"
#include "agdx/frontier.hpp"
#include "machine/operation.hpp"
#include "machine/random.hpp"

namespace tidemark::agdx {

struct ManagedCallOptions {
  std::uint64_t timeout_micros = 0;  // of one attempt; 0: the default
  bool ungated = false;              // sent whatever the capabilities say
};

// Reads a surface reply that is no table. An error means that it is no such reply; then a command error is
// tried.
struct CustomReply {
  Error (*decode)(void* context, std::span<const std::uint8_t> payload) = nullptr;
  void* context = nullptr;
};

// One managed request (section 3 of the contract): checked against the capabilities and every rule, wrapped
// as its command wants, repeated as far as that is safe.
//
// A mutation has one identity and one envelope. While its outcome is unknown the same bytes go out again, for
// at most 30 s; then it fails as `ambiguous`. Acquiring a lease and registering a schema are never repeated.
class ManagedCall final : public Operation {
 public:
  // The references must outlive the call. `args` (the request's tape) is read here and not kept.
  ManagedCall(std::uint32_t command, tape::Value args, ManagedCallOptions options,
              const Capabilities& capabilities, SeenFrontier& frontier, Random& random);
  // A request written by hand, its rules already checked.
  ManagedCall(std::uint32_t command, bytes::Buffer payload, CustomReply reply, ManagedCallOptions options,
              const Capabilities& capabilities, SeenFrontier& frontier, Random& random);

  bool finished() const { return finished_; }
  // Nothing when finished well.
  const std::optional<Failure>& failure() const { return failure_; }
  // When finished well: one value on a tape. Of a command with one good outcome its data (null for none), of
  // one with several the variant; of a reply without variants the reply. Empty for a custom reply.
  const bytes::Buffer& value() const { return value_; }
  // The raw surface reply, for a reply that is no table.
  const bytes::Buffer& payload() const { return raw_; }
  // Nonzero once a mutation was first sent.
  tape::U128 operation_id() const { return operation_id_; }
  void cancel();

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now now) override;

 private:
  enum class Step : std::uint8_t { ready, waiting, pausing, holding, done };

  bool allowed(tape::Value args);
  void wrap(Now now);
  void take(std::span<const std::uint8_t> payload, Now now);
  Error take_surface(std::span<const std::uint8_t> payload, Now now);
  void take_result(tape::Value reply);
  void take_command_error(tape::Value error, Now now);
  void outcome_unknown(Now now);
  void ambiguous();
  void fail(Failure failure);
  void fail(Rule rule);
  void finish();

  const Command* command_;
  ManagedCallOptions options_;
  CustomReply custom_;
  const Capabilities& capabilities_;
  SeenFrontier& frontier_;
  Random& random_;

  Step step_ = Step::ready;
  bool finished_ = false;
  std::optional<Failure> failure_;
  bytes::Buffer value_;
  bytes::Buffer raw_;

  bytes::Buffer body_;  // the request itself; from the first attempt on its envelope
  tape::U128 operation_id_;
  bytes::Buffer execution_id_;      // what a status must answer for
  std::uint32_t item_count_ = 0;    // of a batch
  std::uint64_t lease_micros_ = 0;  // asked lifetime of a lease to be acquired
  bool wrapped_ = false;
  bool maybe_applied_ = false;  // an attempt's outcome is unknown
  std::uint32_t repeats_ = 0;
  std::uint64_t give_up_at_ = 0;  // of the mutation, monotonic
  std::uint64_t wake_at_ = 0;
};

}  // namespace tidemark::agdx
