#include "client/streaming_tasks.hpp"

#include <string>
#include <utility>

#include "bytes/tape_map.hpp"
#include "client/reader_tape.hpp"
#include "client/ticket_task.hpp"
#include "feed/offset_for_time.hpp"
#include "feed/publish.hpp"

namespace tidemark::client {
namespace {

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
  std::optional<Problem> problem() const override {
    if (const auto& failure = publish_.failure()) return problem_of(*failure);
    return std::nullopt;
  }
  void write_result(tape::Writer& out) const override {
    tape::MapWriter map(out);
    auto& list = map.at("confirmations");
    const auto mark = list.open(tape::Tag::array);
    for (const auto& one : publish_.confirmations()) {
      tape::MapWriter entry(list);
      entry.u32("stream_id", one.stream_id);
      entry.u32("topic_id", one.topic_id);
      entry.u32("partition_id", one.partition_id);
      entry.u64("base_offset", one.base_offset);
    }
    list.close(mark, static_cast<std::uint32_t>(publish_.confirmations().size()));
  }
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
  std::optional<Problem> problem() const override {
    if (const auto& failure = lookup_.failure()) return problem_of(*failure);
    return std::nullopt;
  }
  void write_result(tape::Writer& out) const override { write(out, lookup_.positions()); }
  feed::OffsetForTime lookup_;
};

}  // namespace

std::unique_ptr<Task> call_task(std::uint32_t command, tape::Value args, CallOptions options,
                                iggy::Dialect dialect) {
  return std::make_unique<CallTask>(Call(command, args, options, dialect, iggy::all_commands()));
}

std::unique_ptr<Task> publish_task(tape::Value value, feed::Partitions& partitions, Random& random,
                                   Error& error) {
  auto args = feed::publish_args(value, error);
  if (!args) return nullptr;
  return std::make_unique<PublishTask>(std::move(*args), partitions, random);
}

std::unique_ptr<Task> offset_for_time_task(tape::Value args, iggy::Dialect dialect, Error& error) {
  std::uint64_t micros = 0;
  if (!args.get("micros").to_u64(micros)) {
    error.rule = Rule::argument;
    error.set_path("micros");
    return nullptr;
  }
  return std::make_unique<OffsetForTimeTask>(std::string(args.get("stream").text()),
                                             std::string(args.get("topic").text()), micros, dialect);
}

}  // namespace tidemark::client
