#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agdx/name_table.hpp"
#include "client/call.hpp"
#include "client/problem.hpp"
#include "client/task.hpp"
#include "feed/offset_for_time.hpp"
#include "feed/publish.hpp"
#include "feed/reader.hpp"

// The operations of the streaming protocol as tasks: each ends as one `result` or `failure` of its ticket, a
// reader goes on until it is closed.
namespace tidemark::client {

// Ends as one result or failure.
class TicketTask : public Task {
 public:
  bool report(std::uint32_t id, Events& events) final;
  void close(std::uint32_t id, Events& events) final { events.failure(id, closed()); }

 protected:
  virtual bool done() const = 0;
  virtual std::optional<Problem> problem() const = 0;
  virtual void write_result(tape::Writer& out) const = 0;
};

class CallTask final : public TicketTask {
 public:
  explicit CallTask(Call call) : call_(std::move(call)) {}
  Operation& operation() override { return call_; }
  bool new_session(iggy::Dialect dialect) override { return call_.new_session(dialect); }

 private:
  bool done() const override { return call_.done(); }
  std::optional<Problem> problem() const override { return call_.problem(); }
  void write_result(tape::Writer& out) const override { out.copy(call_.value()); }
  Call call_;
};

class PublishTask final : public TicketTask {
 public:
  PublishTask(feed::PublishArgs args, feed::Partitions& partitions, Random& random)
      : publish_(std::move(args), partitions, random) {}
  Operation& operation() override { return publish_; }

 private:
  bool done() const override { return publish_.done(); }
  std::optional<Problem> problem() const override;
  void write_result(tape::Writer& out) const override;
  feed::Publish publish_;
};

class OffsetForTimeTask final : public TicketTask {
 public:
  OffsetForTimeTask(std::string stream, std::string topic, std::uint64_t micros, iggy::Dialect dialect)
      : lookup_(std::move(stream), std::move(topic), micros, dialect) {}
  Operation& operation() override { return lookup_; }
  bool new_session(iggy::Dialect dialect) override {
    lookup_.new_session(dialect);
    return false;
  }

 private:
  bool done() const override { return lookup_.done(); }
  std::optional<Problem> problem() const override;
  void write_result(tape::Writer& out) const override;
  feed::OffsetForTime lookup_;
};

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
