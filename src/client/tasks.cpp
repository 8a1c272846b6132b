#include "client/tasks.hpp"

#include "client/reader_tape.hpp"
#include "client/tape_map.hpp"

namespace tidemark::client {

bool TicketTask::report(std::uint32_t id, Events& events) {
  if (!done()) return false;
  if (const auto failed = problem()) {
    events.failure(id, *failed);
    return true;
  }
  bytes::Buffer value;
  tape::Writer out(value);
  write_result(out);
  events.result(id, value);
  return true;
}

std::optional<Problem> PublishTask::problem() const {
  if (const auto& failure = publish_.failure()) return problem_of(*failure);
  return std::nullopt;
}

void PublishTask::write_result(tape::Writer& out) const {
  TapeMap map(out);
  auto& list = map.at("confirmations");
  const auto mark = list.open(tape::Tag::array);
  for (const auto& one : publish_.confirmations()) {
    TapeMap entry(list);
    entry.u32("stream_id", one.stream_id);
    entry.u32("topic_id", one.topic_id);
    entry.u32("partition_id", one.partition_id);
    entry.u64("base_offset", one.base_offset);
  }
  list.close(mark, static_cast<std::uint32_t>(publish_.confirmations().size()));
}

std::optional<Problem> OffsetForTimeTask::problem() const {
  if (const auto& failure = lookup_.failure()) return problem_of(*failure);
  return std::nullopt;
}

void OffsetForTimeTask::write_result(tape::Writer& out) const { write(out, lookup_.positions()); }

bool ReaderTask::report(std::uint32_t id, Events& events) {
  while (const auto state = reader_.poll_state()) events.reader_state(id, *state);
  if (const auto outcome = reader_.poll_outcome()) {
    switch (*outcome) {
      case feed::ReadOutcome::batch: events.batch(id); break;
      case feed::ReadOutcome::failure: events.reader_failure(id, problem_of(reader_.failure())); break;
      case feed::ReadOutcome::cancelled: {
        feed::Failure failure;
        failure.kind = feed::FailureKind::cancelled;
        events.reader_failure(id, problem_of(failure));
        break;
      }
    }
  }
  return false;
}

void ReaderTask::close(std::uint32_t id, Events& events) {
  if (reader_.reading()) events.reader_failure(id, closed());
}

void ReaderTask::write_summary(tape::Writer& out) {
  const auto& batch = reader_.batch();
  client::write_summary(out, batch, told_identity_);
  told_identity_ = batch.identity;
}

}  // namespace tidemark::client
