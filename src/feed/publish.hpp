#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "feed/failure.hpp"
#include "feed/partitions.hpp"
#include "machine/operation.hpp"
#include "machine/random.hpp"

namespace tidemark::feed {

struct PublishRecord {
  bytes::Buffer payload;
  bytes::Buffer headers;  // a header block
};

struct Balanced {};
struct PublishArgs {
  std::string stream;
  std::string topic;
  // No choice (round robin), a key (hashed), or a partition.
  std::variant<Balanced, bytes::Buffer, std::uint32_t> partition = Balanced{};
  std::vector<PublishRecord> records;
  std::uint64_t timeout_micros = 60'000'000;  // of one attempt
  std::uint32_t max_retries = 3;
  std::uint64_t retry_backoff_micros = 250'000;  // doubles up to 30 s
};

// The tape form of PublishArgs (js/core/contract.ts), header rules applied.
std::optional<PublishArgs> publish_args(tape::Value value, Error& error);

struct Confirmation {
  std::uint32_t stream_id = 0;
  std::uint32_t topic_id = 0;
  std::uint32_t partition_id = 0;
  std::uint64_t base_offset = 0;
};

// Stores records in a topic: resolves the partition, splits into requests, and repeats what is known not to
// be stored. After a lost session it reads back by message id before it repeats anything.
class Publish final : public Operation {
 public:
  Publish(PublishArgs args, Partitions& partitions, Random& random);
  ~Publish() override;

  void cancel(Now now);
  bool done() const;
  const std::optional<Failure>& failure() const;
  // One per stored request; fewer (none) when the server confirmed without naming an offset.
  const std::vector<Confirmation>& confirmations() const;

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now now) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::feed
