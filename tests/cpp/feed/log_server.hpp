#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bytes/reader.hpp"
#include "bytes/writer.hpp"
#include "iggy/checksum.hpp"
#include "iggy/message_batch.hpp"
#include "iggy/primitives.hpp"
#include "machine/operation.hpp"

// A streaming server in memory, for one stream with one topic: answers requests of operations with the bytes
// that a server would send. It writes batches by hand, so that it shares no code with what reads them.
namespace tidemark::test {

struct StoredRecord {
  std::uint64_t offset = 0;
  std::uint64_t timestamp = 0;
  std::uint64_t origin = 0;
  tape::U128 id;
  bytes::Buffer payload;
  bytes::Buffer headers;
};

struct StoredPartition {
  std::uint64_t created_at = 0;
  std::uint64_t next_offset = 0;
  std::optional<std::uint64_t> shown_head;  // a lagging node
  std::vector<StoredRecord> records;

  std::uint64_t head() const { return shown_head ? *shown_head : next_offset == 0 ? 0 : next_offset - 1; }
  void append(bytes::Buffer payload, std::uint64_t timestamp,
              std::optional<std::uint64_t> at = std::nullopt) {
    if (at) next_offset = *at;
    records.push_back({next_offset, timestamp, timestamp, {next_offset + 1, 77}, std::move(payload), {}});
    ++next_offset;  // wraps at the very end: see full()
  }
  void trim_below(std::uint64_t offset) {
    std::erase_if(records, [offset](const StoredRecord& record) { return record.offset < offset; });
  }
  void purge() { records.clear(), next_offset = 0; }
};

struct StoredTopic {
  std::uint32_t id = 0;
  std::uint64_t created_at = 1;
  std::map<std::uint32_t, StoredPartition> partitions;
};

struct Answer {
  Outcome outcome = Outcome::ok;
  std::uint32_t code = 0;
  bytes::Buffer payload;
  bool timed_out = false;
};

class LogServer {
 public:
  iggy::Dialect dialect = iggy::Dialect::s11;
  std::uint32_t stream_id = 3;
  std::uint64_t stream_created_at = 10;
  bool stream_exists = true;
  std::optional<StoredTopic> topic;
  std::size_t reply_cap = SIZE_MAX;  // records
  std::size_t batch_size = 3;        // records of one stored batch
  std::uint64_t clock = 1'000;
  std::vector<Request> requests;  // all that came
  std::uint64_t recreations = 0;
  bool recreate_after_route = false;
  // What happens while a deferred read waits, when there is nothing for it yet.
  std::function<void()> meanwhile;

  void create_topic(std::uint32_t partitions) {
    topic = StoredTopic{static_cast<std::uint32_t>(++recreations), ++clock, {}};
    add_partitions(partitions);
  }
  void add_partitions(std::uint32_t count) {
    for (std::uint32_t index = 0; index < count; ++index) {
      const auto id = static_cast<std::uint32_t>(topic->partitions.size());
      topic->partitions[id].created_at = ++clock;
    }
  }
  StoredPartition& partition(std::uint32_t id) { return topic->partitions.at(id); }

  Answer answer(const Request& request) {
    requests.push_back(request);
    bytes::Reader in(request.body);
    switch (request.command) {
      case 200: return {.payload = stream_exists ? stream_record() : bytes::Buffer{}};
      case 300: return {.payload = topic && stream_exists ? topic_record() : bytes::Buffer{}};
      case 100: return is_stale(request) ? stale() : poll(in);
      case 101: return is_stale(request) ? stale() : send(in);
      case 106: return is_stale(request) ? stale() : deferred_poll(in);
      case 109: return fetch(in);
      case 105: return route(in);
      case 120: return is_stale(request) ? stale() : Answer{.payload = {}};
      default: return {.outcome = Outcome::refused, .code = 3, .payload = {}};
    }
  }

  static constexpr std::uint64_t metadata_op = 31;

 private:
  // The time of its creation serves as a partition's incarnation.
  bool is_stale(const Request& request) const {
    if (!iggy::is_v12(dialect) || !topic) return false;
    const auto& [incarnation, op] = request.context;
    return op != metadata_op ||
           std::none_of(topic->partitions.begin(), topic->partitions.end(),
                        [&](const auto& one) { return one.second.created_at == incarnation; });
  }
  static Answer stale() { return {.outcome = Outcome::refused, .code = 87, .payload = {}}; }

  bytes::Buffer stream_record() const {
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(stream_id), out.u64(stream_created_at), out.u32(topic ? 1 : 0), out.u64(0), out.u64(0);
    out.u8(1), out.text("s"), out.u32(0);
    return body;
  }
  bytes::Buffer topic_record() const {
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(topic->id), out.u64(topic->created_at);
    out.u32(static_cast<std::uint32_t>(topic->partitions.size()));
    if (!iggy::is_v12(dialect)) out.u64(UINT64_MAX), out.u8(1), out.u64(UINT64_MAX);
    out.u64(0), out.u64(0);
    out.u8(1), out.text("t"), out.u32(0), out.u32(0);
    for (const auto& [id, partition] : topic->partitions) {
      out.u32(id), out.u64(partition.created_at), out.u32(1), out.u64(partition.head());
      out.u64(0), out.u64(partition.records.size());
      if (!iggy::is_v12(dialect)) continue;
      out.u64(partition.created_at), out.u64(0), out.u64(metadata_op);
      out.u8(1), out.u8(7), out.u8(2), out.u8(7), out.u8(8);
    }
    return body;
  }

  Answer poll(bytes::Reader& in) {
    iggy::read_consumer(in, false);
    iggy::read_identifier(in);
    iggy::read_identifier(in);
    const auto id = iggy::read_optional_partition(in);
    const auto strategy = iggy::read_strategy(in);
    const std::size_t count = std::min<std::size_t>(in.u32(), reply_cap);
    if (!stream_exists || !topic) return {.outcome = Outcome::refused, .code = 2010, .payload = {}};
    const auto found = topic->partitions.find(id.value_or(0));
    if (found == topic->partitions.end()) return {.outcome = Outcome::refused, .code = 3007, .payload = {}};
    const auto& records = found->second.records;
    auto from = records.begin();
    if (strategy.kind == iggy::StrategyKind::offset)
      from = std::find_if(records.begin(), records.end(),
                          [&](const StoredRecord& record) { return record.offset >= strategy.value; });
    else if (strategy.kind == iggy::StrategyKind::timestamp)
      from = std::find_if(records.begin(), records.end(),
                          [&](const StoredRecord& record) { return record.timestamp >= strategy.value; });
    else if (strategy.kind == iggy::StrategyKind::last)
      from = records.end() - static_cast<std::ptrdiff_t>(std::min(count, records.size()));
    const auto to = from + std::min<std::ptrdiff_t>(records.end() - from, static_cast<std::ptrdiff_t>(count));
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(found->first), out.u64(found->second.head()), out.u32(static_cast<std::uint32_t>(to - from));
    if (iggy::is_v12(dialect)) out.u64(found->second.created_at), out.u64(0), out.u64(metadata_op);
    while (from != to) {
      auto end = from + 1;
      while (end != to && end->timestamp == from->timestamp && end->offset == (end - 1)->offset + 1 &&
             static_cast<std::size_t>(end - from) < batch_size)
        ++end;
      write_batch(found->first, from, end, out, body);
      from = end;
    }
    return {.payload = std::move(body)};
  }

  Answer route(bytes::Reader& in) {
    iggy::read_identifier(in);
    iggy::read_identifier(in);
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u64(partition(in.u32()).created_at), out.u64(metadata_op), out.u32(0), out.u32(1), out.u8(0);
    if (std::exchange(recreate_after_route, false))
      create_topic(static_cast<std::uint32_t>(topic->partitions.size()));
    return {.payload = std::move(body)};
  }

  Answer deferred_poll(bytes::Reader& in) {
    const auto body = in.rest();
    bytes::Reader poll_of(body);
    auto answer = poll(poll_of);
    poll_of.u8();  // no auto commit
    // Wait, least count, most bytes, time until it is given up.
    if (poll_of.u64() == 0 || poll_of.u32() != 1 || poll_of.u32() < 344 || poll_of.u64() < 1'000'000 ||
        !poll_of.ok() || !poll_of.at_end())
      return {.outcome = Outcome::refused, .code = 3, .payload = {}};
    if (answer.payload.size() > 40 || !meanwhile) return answer;
    meanwhile();
    bytes::Reader again(body);
    return poll(again);
  }

  Answer fetch(bytes::Reader& in) {
    const auto body = in.rest();
    bool any = false;
    auto answer = fetch_once(body, any);
    if (any || answer.code != 0 || !meanwhile) return answer;
    meanwhile();
    return fetch_once(body, any);
  }
  Answer fetch_once(std::span<const std::uint8_t> body, bool& any) {
    bytes::Reader in(body);
    iggy::read_consumer(in, false);
    iggy::read_identifier(in);
    iggy::read_identifier(in);
    const auto wait = in.u64();
    const auto give_up = in.u64();
    const auto least = in.u32();
    const auto count = in.u32();
    const auto most_bytes = in.u32();
    in.u8();
    const auto targets = in.u32();
    if (give_up < wait + 1'000'000 || least != 1 || most_bytes < 344 || targets < 1 || targets > 1000)
      return {.outcome = Outcome::refused, .code = 3, .payload = {}};
    if (!stream_exists || !topic) return {.outcome = Outcome::refused, .code = 2010, .payload = {}};
    bytes::Buffer entries, records;
    bytes::Writer out(entries);
    out.u32(targets);
    for (std::uint32_t index = 0; index < targets; ++index) {
      const auto id = in.u32();
      const auto strategy = in.u8();
      const auto offset = in.u64();
      const auto bytes = in.u32();
      const auto incarnation = in.u64();
      const auto owner = in.u64();
      const auto found = topic->partitions.find(id);
      std::uint32_t status = 0;
      if (strategy != 1 || bytes < 344 || bytes > most_bytes || owner != 0)
        status = 3;
      else if (found == topic->partitions.end())
        status = 3007;
      else if (found->second.created_at != incarnation)
        status = 87;
      bytes::Buffer reply(40);
      if (status == 0) {
        bytes::Buffer asked;
        bytes::Writer poll_out(asked);
        iggy::write_poll({.consumer = {iggy::ConsumerKind::consumer, iggy::Identifier::named("c")},
                          .stream = iggy::Identifier::named("s"),
                          .topic = iggy::Identifier::named("t"),
                          .partition = id,
                          .strategy = {iggy::StrategyKind::offset, offset},
                          .count = count},
                         poll_out);
        bytes::Reader poll_in(asked);
        reply = poll(poll_in).payload;
      }
      any = any || status != 0 || reply.size() > 40;
      out.u32(id), out.u32(status);
      out.bytes(std::span(reply).subspan(4, 36));
      out.u64(offset), out.u32(static_cast<std::uint32_t>(reply.size() - 40));
      records.insert(records.end(), reply.begin() + 40, reply.end());
    }
    if (!in.ok() || !in.at_end()) return {.outcome = Outcome::refused, .code = 3, .payload = {}};
    entries.insert(entries.end(), records.begin(), records.end());
    return {.payload = std::move(entries)};
  }

  static void write_batch(std::uint32_t partition, std::vector<StoredRecord>::const_iterator from,
                          std::vector<StoredRecord>::const_iterator to, bytes::Writer& out,
                          bytes::Buffer& body) {
    const auto start = body.size();
    // Batches are slices: the base offset lies below the first frame where it can.
    const auto base = from->offset - from->offset % 2;
    std::uint64_t origin = UINT64_MAX;
    for (auto record = from; record != to; ++record) origin = std::min(origin, record->origin);
    out.zeros(256);
    const auto header = [&](std::size_t at, std::uint64_t value) { out.patch_u64(start + at, value); };
    header(0, partition), header(8, base), header(16, from->timestamp), header(24, origin);
    bytes::Buffer digest;
    for (auto record = from; record != to; ++record) {
      const auto frame = body.size();
      out.u64(0), out.u64(record->id.low), out.u64(record->id.high);
      out.u32(static_cast<std::uint32_t>(record->offset - base));
      out.u32(static_cast<std::uint32_t>(record->origin - origin));
      out.u32(static_cast<std::uint32_t>(record->headers.size()));
      out.u32(static_cast<std::uint32_t>(record->payload.size()));
      out.u64(0), out.bytes(record->payload), out.bytes(record->headers);
      out.patch_u64(frame, iggy::xxh3_64(std::span(body).subspan(frame + 8)));
      digest.insert(digest.end(), body.begin() + static_cast<std::ptrdiff_t>(frame),
                    body.begin() + static_cast<std::ptrdiff_t>(frame) + 8);
    }
    header(32, body.size() - start);
    out.patch_u32(start + 48, static_cast<std::uint32_t>(to - from));
    bytes::Buffer covered(body.begin() + static_cast<std::ptrdiff_t>(start),
                          body.begin() + static_cast<std::ptrdiff_t>(start) + 40);
    covered.insert(covered.end(), body.begin() + static_cast<std::ptrdiff_t>(start) + 48,
                   body.begin() + static_cast<std::ptrdiff_t>(start) + 52);
    covered.insert(covered.end(), digest.begin(), digest.end());
    header(40, iggy::xxh3_64(covered));
  }

  Answer send(bytes::Reader& in) {
    in.u32();
    iggy::read_identifier(in);
    iggy::read_identifier(in);
    const auto to = iggy::read_partitioning(in);
    const auto count = in.u32();
    if (!topic) return {.outcome = Outcome::refused, .code = 20, .payload = {}};
    const auto found = topic->partitions.find(to.partition_id);
    if (found == topic->partitions.end()) return {.outcome = Outcome::refused, .code = 3007, .payload = {}};
    iggy::BatchReader batch(in.rest(), dialect);
    if (batch.error() || batch.header().count != count)
      return {.outcome = Outcome::refused, .code = 4039, .payload = {}};
    auto& partition = found->second;
    const auto base = partition.next_offset;
    const auto now = ++clock;
    iggy::BatchMessage message;
    while (batch.next(message)) {
      partition.records.push_back({partition.next_offset++,
                                   now,
                                   message.origin_timestamp,
                                   message.id,
                                   {message.payload.begin(), message.payload.end()},
                                   {message.headers.begin(), message.headers.end()}});
    }
    bytes::Buffer body;
    bytes::Writer out(body);
    out.u32(1), out.u32(stream_id), out.u32(topic->id), out.u32(found->first), out.u64(base);
    return {.payload = std::move(body)};
  }
};

// Carries requests to the server and answers back, in order; time passes only where nothing else can happen.
class Drive {
 public:
  explicit Drive(LogServer& server) : server_(server) {}

  Now now{1'000'000, 1'700'000'000'000'000};
  // What happens to a request instead of the server's answer.
  std::function<std::optional<Answer>(const Request&)> fault;
  std::function<void(const Request&)> before_answer;
  std::vector<std::uint64_t> waits;  // micros that passed, each time that time had to pass

  // Until `done`, or until nothing can move any more.
  void run(Operation& operation, const std::function<bool()>& done, std::size_t most_steps = 100'000) {
    for (std::size_t step = 0; step < most_steps && !done(); ++step) {
      while (auto request = operation.poll_request(now)) in_flight_.push_back(std::move(*request));
      if (!in_flight_.empty()) {
        const auto request = std::move(in_flight_.front());
        in_flight_.pop_front();
        deliver(operation, request);
      } else if (const auto deadline = operation.poll_deadline()) {
        if (*deadline > now.mono_micros) waits.push_back(*deadline - now.mono_micros), pass(waits.back());
        operation.expire(now);
      } else {
        done();
        return;
      }
    }
  }
  void pass(std::uint64_t micros) { now.mono_micros += micros, now.wall_micros += micros; }
  void forget_requests() { in_flight_.clear(); }

 private:
  void deliver(Operation& operation, const Request& request) {
    if (before_answer) before_answer(request);
    auto answer = fault ? fault(request) : std::nullopt;
    if (!answer) answer = server_.answer(request);
    Reply reply;
    reply.outcome = answer->outcome;
    reply.code = answer->code;
    reply.timed_out = answer->timed_out;
    reply.payload = answer->payload;
    operation.on_reply(request.tag, reply, now);
  }
  LogServer& server_;
  std::deque<Request> in_flight_;
};

}  // namespace tidemark::test
