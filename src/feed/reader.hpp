#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "agdx/name_table.hpp"
#include "feed/batch.hpp"
#include "feed/failure.hpp"
#include "feed/position.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

enum class ReaderMode : std::uint8_t {
  watch,  // the vendor's rules: no gaps, a missing topic reads as empty, up to 10,000 records a partition and
          // read
  durable,  // looks for gaps, waits for a missing topic, reads up to a cap of bytes
};
enum class Start : std::uint8_t { beginning, now };
enum class OnHistoryLost : std::uint8_t { earliest, now };
enum class ReaderState : std::uint8_t { reading, idle, waiting_for_source };
enum class ReadOutcome : std::uint8_t { batch, failure, cancelled };

struct ReaderOptions {
  std::string stream;
  std::string topic;
  ReaderMode mode = ReaderMode::watch;
  Content content = Content::changes;
  std::string index;                         // only changes of this index; empty for all
  std::uint32_t batch = 1000;                // records a request
  std::uint32_t byte_cap = 8 * 1024 * 1024;  // of one batch, durable
  std::variant<Start, Positions> from = Start::beginning;
  std::optional<SourceIdentity> identity;  // that the positions belong to
  OnHistoryLost on_history_lost = OnHistoryLost::earliest;
};

// Reads one topic, batch by batch. Positions move only with a batch: a failed or cancelled read moves
// nothing.
//
// The owner calls read(), drives the Operation, and after every reply or expiry asks poll_outcome(): each
// read ends with exactly one outcome. Replies that arrive after their read has ended are ignored.
class Reader final : public Operation {
 public:
  Reader(ReaderOptions options, agdx::NameTable& names);
  ~Reader() override;

  // Starts a read; false while one is under way. Durable, with `wait_micros` > 0: an empty read is repeated
  // at that interval until there is a record or a gap, and a missing topic is waited for.
  bool read(std::uint64_t wait_micros, Now now);
  void cancel_read(Now now);
  bool reading() const;

  std::optional<ReadOutcome> poll_outcome();
  const ReaderBatch& batch() const;  // after an outcome `batch`, until the next read
  const Failure& failure() const;    // after an outcome `failure`
  // The state, once after each change.
  std::optional<ReaderState> poll_state();

  const Positions& positions() const;
  // False while a read is under way.
  bool seek(std::variant<Start, Positions> to, std::optional<SourceIdentity> identity);
  // A new session came up: what was seen on the old connection is no longer held against the new one.
  void new_session();

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now now) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::feed
