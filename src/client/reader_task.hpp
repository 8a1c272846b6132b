#pragma once

#include <optional>
#include <utility>

#include "agdx/name_table.hpp"
#include "client/task.hpp"
#include "feed/reader.hpp"

namespace tidemark::client {

// A reader: goes on until it is closed.
class ReaderTask final : public Task {
 public:
  ReaderTask(feed::ReaderOptions options, agdx::NameTable& names) : reader_(std::move(options), names) {}
  Operation& operation() override { return reader_; }
  bool report(std::uint32_t id, Events& events) override;
  void close(std::uint32_t id, Events& events) override;
  bool new_session(iggy::Dialect dialect) override {
    reader_.new_session(dialect);
    return false;
  }
  ReaderTask* as_reader() override { return this; }

  feed::Reader& reader() { return reader_; }
  const feed::Positions& positions() const { return reader_.positions(); }
  // The summary of the batch that the reader holds, as a tape.
  void write_summary(tape::Writer& out);

 private:
  feed::Reader reader_;
  std::optional<feed::SourceIdentity> told_identity_;
};

}  // namespace tidemark::client
