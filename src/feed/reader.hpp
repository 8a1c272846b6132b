#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "agdx/name_table.hpp"
#include "feed/batch.hpp"
#include "feed/failure.hpp"
#include "feed/position.hpp"
#include "feed/reader_options.hpp"
#include "iggy/protocol_version.hpp"
#include "machine/operation.hpp"

namespace tidemark::feed {

class Reading;
struct ReadState;

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
  void new_session(iggy::Dialect dialect);

  std::optional<Request> poll_request(Now now) override;
  void on_reply(std::uint32_t tag, const Reply& reply, Now now) override;
  std::optional<std::uint64_t> poll_deadline() const override;
  void expire(Now now) override;

 private:
  std::unique_ptr<ReadState> state_;
  std::unique_ptr<Reading> reading_;
};

}  // namespace tidemark::feed
