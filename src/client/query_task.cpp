#include "client/query_task.hpp"

#include "agdx/command_error.hpp"

namespace tidemark::client {

std::shared_ptr<agdx::QueryReplyDecoder> QueryDecoders::take() {
  for (auto& decoder : decoders_)
    if (decoder.use_count() == 1) return decoder;
  auto made = std::make_shared<agdx::QueryReplyDecoder>();
  if (decoders_.size() < kept) decoders_.push_back(made);
  return made;
}

QueryTask::QueryTask(std::uint32_t command, bytes::Buffer payload,
                     std::span<const std::uint8_t> execution_id,
                     std::shared_ptr<agdx::QueryReplyDecoder> decoder, agdx::ManagedCallOptions options,
                     const agdx::Capabilities& capabilities, agdx::SeenFrontier& frontier, Random& random)
    : decoder_(std::move(decoder)),
      execution_id_(execution_id.begin(), execution_id.end()),
      call_(command, std::move(payload), {&QueryTask::read_reply, this}, options, capabilities, frontier,
            random) {}

Error QueryTask::read_reply(void* task, std::span<const std::uint8_t> payload) {
  auto& self = *static_cast<QueryTask*>(task);
  const auto outcome = self.decoder_->decode(payload, self.execution_id_);
  self.refused_ = outcome == agdx::QueryReplyDecoder::Outcome::refused;
  return outcome == agdx::QueryReplyDecoder::Outcome::failed ? self.decoder_->error() : Error{};
}

bool QueryTask::report(std::uint32_t id, Events& events) {
  if (!call_.finished()) return false;
  if (const auto& failure = call_.failure())
    events.failure(id, problem_of(*failure));
  else if (refused_)
    events.failure(id, refusal());
  else
    events.page(id, decoder_);
  return true;
}

Problem QueryTask::refusal() const {
  const auto& detail = decoder_->details();
  const auto code = static_cast<std::uint16_t>(agdx::surface_result_code(tape::Value{detail}));
  Problem problem;
  problem.kind = "surface";
  problem.surface = "query";
  problem.code = code;
  problem.code_name = agdx::result_code_name(code);
  problem.retryable = agdx::is_retryable(code);
  problem.message = "the server refused the query";
  problem.detail = detail;
  return problem;
}

}  // namespace tidemark::client
