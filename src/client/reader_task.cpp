#include "client/reader_task.hpp"

#include "client/problem.hpp"
#include "client/reader_tape.hpp"

namespace tidemark::client {

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
