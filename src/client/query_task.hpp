#pragma once

#include <memory>
#include <vector>

#include "agdx/managed_call.hpp"
#include "agdx/query_reply.hpp"
#include "client/task.hpp"

namespace tidemark::client {

// Decoders that are not in use, for the next reply: their buffers are warm. One goes back by being let go of.
class QueryDecoders {
 public:
  std::shared_ptr<agdx::QueryReplyDecoder> take();

 private:
  static constexpr std::size_t kept = 4;
  std::vector<std::shared_ptr<agdx::QueryReplyDecoder>> decoders_;
};

// One query or one further page: ends as a page (an event with columns) or as a failure of its ticket.
class QueryTask final : public Task {
 public:
  // `payload` is the encoded request, `execution_id` the one that the reply must carry.
  QueryTask(std::uint32_t command, bytes::Buffer payload, std::span<const std::uint8_t> execution_id,
            std::shared_ptr<agdx::QueryReplyDecoder> decoder, agdx::ManagedCallOptions options,
            const agdx::Capabilities& capabilities, agdx::SeenFrontier& frontier, Random& random);

  Operation& operation() override { return call_; }
  bool report(std::uint32_t id, Events& events) override;
  void close(std::uint32_t id, Events& events) override { events.failure(id, closed()); }

 private:
  static Error read_reply(void* task, std::span<const std::uint8_t> payload);
  Problem refusal() const;

  std::shared_ptr<agdx::QueryReplyDecoder> decoder_;
  bytes::Buffer execution_id_;
  bool refused_ = false;
  agdx::ManagedCall call_;
};

}  // namespace tidemark::client
