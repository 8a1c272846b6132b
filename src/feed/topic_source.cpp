#include "feed/topic_source.hpp"

#include <algorithm>
#include <array>

#include "bytes/ordering.hpp"
#include "bytes/reader.hpp"
#include "iggy/defaults.hpp"
#include "iggy/operation.hpp"
#include "iggy/result_code.hpp"

namespace tidemark::feed {
namespace {

// The name that the vendor's readers give; nothing is stored under it, since nothing is committed.
constexpr std::string_view consumer_name = "laser-cursor";

constexpr std::uint32_t get_stream_command = 200;
constexpr std::uint32_t get_topic_command = 300;
constexpr std::uint32_t poll_command = 100;
constexpr std::uint32_t least_bytes = 344;  // that a deferred poll may be capped to

void skip_block(bytes::Reader& in) { in.skip(in.u32()); }

}  // namespace

Request TopicSource::get_stream(std::uint32_t tag) const {
  Request request{.command = get_stream_command, .tag = tag, .body = {}};
  bytes::Writer out(request.body);
  const std::array ids{iggy::Identifier::named(stream_)};
  iggy::write_identifiers(ids, out);
  return request;
}

Request TopicSource::get_topic(std::uint32_t tag) const {
  Request request{.command = get_topic_command, .tag = tag, .body = {}};
  bytes::Writer out(request.body);
  const std::array ids{iggy::Identifier::named(stream_), iggy::Identifier::named(topic_)};
  iggy::write_identifiers(ids, out);
  return request;
}

Request TopicSource::poll(std::uint32_t tag, std::uint32_t partition, const PartitionContext& context,
                          iggy::StrategyKind strategy, std::uint64_t value, std::uint32_t count) const {
  Request request{.command = poll_command, .tag = tag, .body = {}, .context = context};
  bytes::Writer out(request.body);
  iggy::write_poll({.consumer = {iggy::ConsumerKind::consumer, iggy::Identifier::named(consumer_name)},
                    .stream = iggy::Identifier::named(stream_),
                    .topic = iggy::Identifier::named(topic_),
                    .partition = partition,
                    .strategy = {strategy, value},
                    .count = count},
                   out);
  return request;
}

Request TopicSource::wait(std::uint32_t tag, std::span<const Target> targets, std::uint32_t count,
                          std::uint32_t byte_cap) const {
  namespace defaults = iggy::defaults;
  constexpr auto give_up = defaults::kDeferred + defaults::kDeferredSlack;
  const auto bytes = std::max(byte_cap, least_bytes);
  if (targets.size() == 1) {
    const auto& [partition, next, context] = targets[0];
    auto request = poll(tag, partition, context, iggy::StrategyKind::offset, next, count);
    request.command = iggy::code::kDeferredPoll;
    request.timeout_micros = give_up + defaults::kRequest;
    bytes::Writer out(request.body);
    out.u64(defaults::kDeferred);
    out.u32(1);  // record
    out.u32(bytes);
    out.u64(give_up);
    return request;
  }
  Request request{
      .command = iggy::code::kFetch, .timeout_micros = give_up + defaults::kRequest, .tag = tag, .body = {}};
  bytes::Writer out(request.body);
  iggy::write_consumer({iggy::ConsumerKind::consumer, iggy::Identifier::named(consumer_name)}, out);
  const std::array ids{iggy::Identifier::named(stream_), iggy::Identifier::named(topic_)};
  iggy::write_identifiers(ids, out);
  out.u64(defaults::kDeferred);
  out.u64(give_up);
  out.u32(1);  // record
  out.u32(count);
  out.u32(bytes);
  out.u8(0);  // no auto commit
  out.u32(static_cast<std::uint32_t>(targets.size()));
  for (const auto& target : targets) {
    out.u32(target.partition);
    iggy::write_strategy({iggy::StrategyKind::offset, target.next}, out);
    out.u32(bytes);
    out.u64(target.context.incarnation);
    out.u64(0);  // owner generation: of groups only
  }
  return request;
}

bool TopicSource::means_gone(const Reply& reply) {
  if (reply.outcome != Outcome::refused) return false;
  return reply.code == 1009 || reply.code == 1010 || reply.code == 2010 || reply.code == 2011 ||
         reply.code == 3007 || reply.code == 87;
}

bool TopicSource::read_stream(const Reply& reply, iggy::Dialect, std::optional<StreamState>& out,
                              Error& error) {
  out.reset();
  if (reply.payload.empty()) return true;
  bytes::Reader in(reply.payload);
  StreamState stream;
  stream.id = in.u32();
  stream.created_at_micros = in.u64();
  error = in.error();
  if (in.ok()) out = stream;
  return in.ok();
}

bool TopicSource::read_topic(const Reply& reply, iggy::Dialect dialect, std::optional<TopicState>& out,
                             Error& error) {
  out.reset();
  if (reply.payload.empty()) return true;
  const bool v12 = iggy::is_v12(dialect);
  bytes::Reader in(reply.payload);
  TopicState topic;
  topic.id = in.u32();
  topic.created_at_micros = in.u64();
  const auto partitions = in.u32();
  if (!v12) in.skip(17);  // message expiry, compression, max size
  in.skip(16);            // size, messages
  in.skip(in.u8());       // name
  skip_block(in);         // explicit options
  skip_block(in);         // derived options
  for (std::uint32_t index = 0; in.ok() && index < partitions; ++index) {
    TopicPartition partition;
    partition.id = in.u32();
    partition.created_at_micros = in.u64();
    in.skip(4);  // segments
    partition.current_offset = in.u64();
    in.skip(8);  // size
    partition.messages_count = in.u64();
    if (v12) {
      partition.context.incarnation = in.u64();
      in.skip(8);  // owner generation: of consumer groups only
      partition.context.metadata_op = in.u64();
      in.skip(in.u8());  // members
      in.skip(in.u8());  // in-sync members
    }
    if (in.ok()) topic.partitions.push_back(partition);
  }
  in.expect_end();
  error = in.error();
  if (!in.ok()) return false;
  order_by<&TopicPartition::id>(topic.partitions);
  out = std::move(topic);
  return true;
}

}  // namespace tidemark::feed
