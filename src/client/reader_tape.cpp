#include "client/reader_tape.hpp"

#include <algorithm>

#include "bytes/tape_map.hpp"

namespace tidemark::client {
namespace {

bool refuse(Error& error, std::string_view field) {
  if (error) return false;
  error.rule = Rule::argument;
  error.set_path(field);
  return false;
}

bool number32(tape::Value value, std::string_view field, std::uint32_t& out, Error& error) {
  if (value.is_null()) return true;  // stays what it is
  std::uint64_t whole = 0;
  if (!value.to_u64(whole) || whole > UINT32_MAX) return refuse(error, field);
  out = static_cast<std::uint32_t>(whole);
  return true;
}

bool required_name(tape::Value value, std::string_view field, std::string& out, Error& error) {
  out = value.text();
  return !out.empty() || refuse(error, field);
}

template <class Enum, std::size_t N>
bool choice(tape::Value value, std::string_view field, const std::string_view (&names)[N], Enum& out,
            Error& error) {
  if (value.is_null()) return true;
  const auto found = std::find(std::begin(names), std::end(names), value.text());
  if (found == std::end(names)) return refuse(error, field);
  out = static_cast<Enum>(found - std::begin(names));
  return true;
}

// 2^64 is the one place after the last offset there can be.
constexpr tape::U128 after_the_last{0, 1};

bool next_offset(tape::Value value, feed::Position& out) {
  tape::U128 next;
  if (!value.to_u128(next)) return false;
  out.exhausted = next == after_the_last;
  out.next = out.exhausted ? UINT64_MAX : next.low;
  return next.high == 0 || out.exhausted;
}

std::string_view gap_name(feed::GapReason reason) {
  constexpr std::string_view names[] = {"trimmed", "missing_inside", "trimmed_whole",
                                        "rewound", "recreated",      "partition_removed"};
  return names[static_cast<std::size_t>(reason)];
}

void write(tape::Writer& out, const feed::Gap& gap) {
  tape::MapWriter map(out);
  map.u32("partition_id", gap.partition);
  map.u64("asked", gap.asked);
  if (gap.first_available) map.u64("first_available", *gap.first_available);
  map.text("reason", gap_name(gap.reason));
}

}  // namespace

std::optional<Place> place(tape::Value value, Error& error) {
  if (value.is(tape::Tag::text)) {
    auto start = feed::Start::beginning;
    constexpr std::string_view names[] = {"beginning", "now"};
    if (!choice(value, "from", names, start, error)) return std::nullopt;
    return start;
  }
  if (!value.is(tape::Tag::array)) {
    refuse(error, "from");
    return std::nullopt;
  }
  feed::Positions positions;
  auto pair = value.first();
  for (std::uint32_t index = 0; index < value.count(); ++index, pair = pair.next()) {
    feed::Position position;
    const auto partition = pair.first();
    if (pair.count() != 2 || partition.is_null() || !number32(partition, "from", position.partition, error) ||
        !next_offset(partition.next(), position)) {
      refuse(error, "from");
      return std::nullopt;
    }
    positions.push_back(position);
  }
  feed::ascending(positions);
  const auto twice = std::adjacent_find(positions.begin(), positions.end(), [](const auto& a, const auto& b) {
    return a.partition == b.partition;
  });
  if (twice != positions.end()) {
    refuse(error, "from");
    return std::nullopt;
  }
  return positions;
}

std::optional<feed::SourceIdentity> identity(tape::Value value, Error& error) {
  if (value.is_null()) return std::nullopt;
  feed::SourceIdentity found;
  bool right = value.is(tape::Tag::map) &&
               number32(value.get("stream_id"), "identity", found.stream_id, error) &&
               number32(value.get("topic_id"), "identity", found.topic_id, error) &&
               value.get("stream_created_at_micros").to_u64(found.stream_created_at_micros) &&
               value.get("topic_created_at_micros").to_u64(found.topic_created_at_micros);
  const auto partitions = value.get("partitions");
  auto item = partitions.first();
  for (std::uint32_t index = 0; right && index < partitions.count(); ++index, item = item.next()) {
    feed::SourceIdentity::Partition partition;
    right = number32(item.get("id"), "identity", partition.id, error) &&
            item.get("created_at_micros").to_u64(partition.created_at_micros);
    found.partitions.push_back(partition);
  }
  if (right) return found;
  refuse(error, "identity");
  return std::nullopt;
}

std::optional<feed::ReaderOptions> reader_options(tape::Value value, Error& error) {
  feed::ReaderOptions options;
  constexpr std::string_view modes[] = {"watch", "durable"};
  constexpr std::string_view contents[] = {"changes", "records"};
  constexpr std::string_view after_loss[] = {"earliest", "now"};
  if (!required_name(value.get("stream"), "stream", options.stream, error) ||
      !required_name(value.get("topic"), "topic", options.topic, error) ||
      !choice(value.get("mode"), "mode", modes, options.mode, error) ||
      !choice(value.get("content"), "content", contents, options.content, error) ||
      !choice(value.get("on_history_lost"), "on_history_lost", after_loss, options.on_history_lost, error) ||
      !number32(value.get("batch"), "batch", options.batch, error) ||
      !number32(value.get("byte_cap"), "byte_cap", options.byte_cap, error))
    return std::nullopt;
  if (options.batch == 0) {
    refuse(error, "batch");
    return std::nullopt;
  }
  options.index = value.get("index").text();
  if (const auto from = value.get("from"); !from.is_null()) {
    auto start = place(from, error);
    if (!start) return std::nullopt;
    options.from = std::move(*start);
  }
  options.identity = identity(value.get("identity"), error);
  if (error) return std::nullopt;
  return options;
}

void write(tape::Writer& out, const feed::Positions& positions) {
  const auto list = out.open(tape::Tag::array);
  for (const auto& position : positions) {
    const auto pair = out.open(tape::Tag::array);
    out.u32(position.partition);
    if (position.exhausted)
      out.u128(after_the_last);
    else
      out.u64(position.next);
    out.close(pair, 2);
  }
  out.close(list, static_cast<std::uint32_t>(positions.size()));
}

void write(tape::Writer& out, const feed::SourceIdentity& source) {
  tape::MapWriter map(out);
  map.u32("stream_id", source.stream_id);
  map.u64("stream_created_at_micros", source.stream_created_at_micros);
  map.u32("topic_id", source.topic_id);
  map.u64("topic_created_at_micros", source.topic_created_at_micros);
  auto& partitions = map.at("partitions");
  const auto list = partitions.open(tape::Tag::array);
  for (const auto& partition : source.partitions) {
    tape::MapWriter entry(partitions);
    entry.u32("id", partition.id);
    entry.u64("created_at_micros", partition.created_at_micros);
  }
  partitions.close(list, static_cast<std::uint32_t>(source.partitions.size()));
}

void write_summary(tape::Writer& out, const feed::ReaderBatch& batch,
                   const std::optional<feed::SourceIdentity>& known) {
  tape::MapWriter map(out);
  write(map.at("positions"), batch.positions);
  if (batch.identity && batch.identity != known) write(map.at("identity"), *batch.identity);
  map.boolean("caught_up", batch.caught_up);
  {
    tape::MapWriter skipped(map.at("skipped"));
    skipped.u32("malformed", batch.skipped.malformed);
    skipped.u32("version", batch.skipped.version);
    skipped.u32("other_index", batch.skipped.other_index);
  }
  auto& gaps = map.at("gaps");
  const auto list = gaps.open(tape::Tag::array);
  for (const auto& gap : batch.gaps) write(gaps, gap);
  gaps.close(list, static_cast<std::uint32_t>(batch.gaps.size()));
  map.u32("unread_partitions", batch.unread_partitions);
}

}  // namespace tidemark::client
