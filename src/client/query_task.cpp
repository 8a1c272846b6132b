#include "client/query_task.hpp"

#include "agdx/command.hpp"
#include "agdx/command_error.hpp"
#include "agdx/managed_call.hpp"
#include "agdx/query_control.hpp"
#include "agdx/query_reply.hpp"
#include "agdx/query_request.hpp"

namespace tidemark::client {
namespace {

constexpr std::size_t kept_decoders = 4;

class QueryTask final : public Task {
 public:
  QueryTask(std::uint32_t command, bytes::Buffer request, std::span<const std::uint8_t> execution_id,
            agdx::ManagedCallOptions options, ManagedState& state, Random& random)
      : decoder_(state.query_decoders.take()),
        execution_id_(execution_id.begin(), execution_id.end()),
        call_(command, std::move(request), {&QueryTask::read_reply, this}, options, state.capabilities,
              state.frontier, random) {}

  Operation& operation() override { return call_; }

  bool report(std::uint32_t id, Events& events) override {
    if (!call_.finished()) return false;
    if (const auto& failure = call_.failure())
      events.failure(id, problem_of(*failure));
    else if (refused_)
      events.failure(id, refusal());
    else
      events.page(id, decoder_);
    return true;
  }

  void close(std::uint32_t id, Events& events) override { events.failure(id, closed()); }

 private:
  static Error read_reply(void* task, std::span<const std::uint8_t> payload) {
    using Outcome = agdx::QueryReplyDecoder::Outcome;
    auto& self = *static_cast<QueryTask*>(task);
    const auto outcome = self.decoder_->decode(payload, self.execution_id_);
    self.refused_ = outcome == Outcome::refused;
    return outcome == Outcome::failed ? self.decoder_->error() : Error{};
  }

  Problem refusal() const {
    const auto& detail = decoder_->details();
    const auto code = static_cast<std::uint16_t>(agdx::surface_result_code(tape::Value{detail}));
    Problem problem;
    problem.kind = "surface";
    problem.message = "the server refused";
    problem.surface = "query";
    problem.code = code;
    problem.code_name = agdx::result_code_name(code);
    problem.retryable = agdx::is_retryable(code);
    problem.detail = detail;
    return problem;
  }

  std::shared_ptr<agdx::QueryReplyDecoder> decoder_;
  bytes::Buffer execution_id_;
  bool refused_ = false;
  agdx::ManagedCall call_;
};

// A request that breaks a rule: nothing is sent.
class RefusedQuery final : public Task, private Operation {
 public:
  explicit RefusedQuery(const Error& error) : problem_(refused(error)) {}
  Operation& operation() override { return *this; }
  bool report(std::uint32_t id, Events& events) override {
    events.failure(id, problem_);
    return true;
  }
  void close(std::uint32_t id, Events& events) override { events.failure(id, closed()); }

 private:
  std::optional<Request> poll_request(Now) override { return std::nullopt; }
  void on_reply(std::uint32_t, const Reply&, Now) override {}
  Problem problem_;
};

}  // namespace

std::shared_ptr<agdx::QueryReplyDecoder> QueryDecoders::take() {
  for (auto& decoder : decoders_)
    if (decoder.use_count() == 1) return decoder;
  auto made = std::make_shared<agdx::QueryReplyDecoder>();
  if (decoders_.size() < kept_decoders) decoders_.push_back(made);
  return made;
}

std::unique_ptr<Task> query_task(std::uint32_t command, tape::Value args, CallOptions options,
                                 ManagedState& state, Random& random) {
  const bool first = command == agdx::command::query;
  const auto& type = first ? agdx::query_envelope : agdx::query_page_envelope;
  bytes::Buffer request;
  if (const auto error = agdx::encode_valid(type, args, request))
    return std::make_unique<RefusedQuery>(error);
  // The identity may have come in either form: what was written has one.
  bytes::Buffer written;
  if (const auto error = agdx::decode(type, request, written)) return std::make_unique<RefusedQuery>(error);
  const tape::Value envelope{written};
  const auto id = (first ? envelope.get("query") : envelope).get("execution_id").bytes();
  return std::make_unique<QueryTask>(command, std::move(request), id,
                                     agdx::ManagedCallOptions{options.timeout_micros, options.ungated}, state,
                                     random);
}

}  // namespace tidemark::client
