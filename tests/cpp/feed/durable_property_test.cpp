#include <catch2/catch_amalgamated.hpp>
#include <map>
#include <set>

#include "feed/log_server.hpp"
#include "feed/reader.hpp"
#include "machine/random.hpp"

using namespace tidemark;
using namespace tidemark::feed;

namespace {

// A record's payload names the life of its topic or partition, its partition and its offset.
bytes::Buffer named(std::uint64_t life, std::uint32_t partition, std::uint64_t offset) {
  bytes::Buffer body;
  bytes::Writer(body).u64(life), bytes::Writer(body).u64(partition), bytes::Writer(body).u64(offset);
  return body;
}

struct Key {
  std::uint64_t life, partition, offset;
  auto operator<=>(const Key&) const = default;
};

// Does to a topic what may happen to one, and keeps the books of it.
class World {
 public:
  World(std::uint64_t seed, test::LogServer& server) : random_({seed, 7, 11, 13}), server_(server) {
    server.create_topic(1 + pick(3));
    server.batch_size = 1 + pick(4);
    server.reply_cap = pick(2) == 0 ? SIZE_MAX : 1 + pick(5);
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_.below(below)); }

  void happen() {
    const auto id = pick(static_cast<std::uint32_t>(server_.topic->partitions.size()));
    auto& partition = server_.partition(id);
    switch (pick(24)) {
      case 0:
        if (!partition.records.empty()) partition.trim_below(partition.records.front().offset + 1 + pick(6));
        break;
      case 1: partition.trim_below(UINT64_MAX); break;
      case 2: {
        const auto count = static_cast<std::uint32_t>(server_.topic->partitions.size());
        server_.create_topic(count + (count < 4 ? pick(2) : 0));
        break;
      }
      case 3:
        if (server_.topic->partitions.size() < 5) server_.add_partitions(1);
        break;
      default:
        for (auto count = 1 + pick(6); count > 0; --count) {
          const auto life = partition.created_at;
          all.insert({life, id, partition.next_offset});
          partition.append(named(life, id, partition.next_offset), ++server_.clock - pick(3));
        }
    }
  }
  std::set<Key> all;

 private:
  Random random_;
  test::LogServer& server_;
};

// What a reader was given, and whether a gap covers what it was not.
struct Books {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> last_of;  // per life and partition
  std::set<Key> delivered;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::pair<std::uint64_t, std::uint64_t>>>
      lost;

  static std::uint64_t life_in(const std::optional<SourceIdentity>& identity, std::uint32_t id) {
    if (identity)
      for (const auto& partition : identity->partitions)
        if (partition.id == id) return partition.created_at_micros;
    return 0;
  }
  void gap(const Gap& gap, const std::optional<SourceIdentity>& before, const ReaderBatch& given) {
    const bool whole = gap.reason == GapReason::recreated || gap.reason == GapReason::partition_removed;
    const auto life = life_in(whole ? before : given.identity, gap.partition);
    // A new life is entered at its first record: what was before that in it is named by the same gap.
    if (gap.reason == GapReason::recreated)
      for (const auto& position : given.positions)
        if (position.partition == gap.partition)
          lost[{life_in(given.identity, gap.partition), gap.partition}].push_back(
              {0, gap.first_available ? *gap.first_available : position.next});
    const auto to = whole || !gap.first_available ? UINT64_MAX : *gap.first_available;
    lost[{life, gap.partition}].push_back({gap.asked, to});
  }
  void batch(const ReaderBatch& given, const std::optional<SourceIdentity>& before) {
    for (const auto& one : given.gaps) gap(one, before, given);
    for (std::size_t at = 0; at < given.records.count; ++at) {
      bytes::Reader in({given.records.bytes.data() + given.records.payload_start[at], 24});
      const auto life = in.u64();
      const auto partition = static_cast<std::uint32_t>(in.u64());
      const auto offset = in.u64();
      REQUIRE(partition == given.records.partition[at]);
      REQUIRE(offset == given.records.offset[at]);
      REQUIRE(delivered.insert({life, partition, offset}).second);
      const auto last = last_of.find({life, partition});
      if (last != last_of.end()) REQUIRE(last->second < offset);
      last_of[{life, partition}] = offset;
    }
  }
  bool covers(const Key& key) const {
    const auto found = lost.find({key.life, static_cast<std::uint32_t>(key.partition)});
    if (found == lost.end()) return false;
    for (const auto& [from, to] : found->second)
      if (key.offset >= from && key.offset < to) return true;
    return false;
  }
};

}  // namespace

TEST_CASE("every record is delivered once and in order, or lies in a gap that was said") {
  const auto seed = GENERATE(range(1, 120));
  INFO("seed " << seed);
  test::LogServer server;
  World world(static_cast<std::uint64_t>(seed), server);
  test::Drive drive(server);
  agdx::NameTable names;
  ReaderOptions options{.stream = "s",
                        .topic = "t",
                        .mode = ReaderMode::durable,
                        .content = Content::records,
                        .from = Positions{}};
  options.batch = 1 + world.pick(9);
  options.byte_cap = 300 + world.pick(2'000);
  auto reader = std::make_unique<Reader>(options, names);
  Books books;
  std::optional<SourceIdentity> identity;
  std::set<std::uint64_t> lives_seen;
  bool troubled = true;
  drive.before_answer = [&](const Request&) {
    if (troubled && world.pick(5) == 0) world.happen();
  };
  drive.fault = [&](const Request& request) -> std::optional<test::Answer> {
    if (!troubled || world.pick(14) != 0) return std::nullopt;
    if (world.pick(2) == 0) server.answer(request);
    return test::Answer{
        .outcome = world.pick(3) == 0 ? Outcome::refused : Outcome::unknown, .code = 41, .payload = {}};
  };
  const auto read = [&](std::size_t steps) {
    REQUIRE(reader->read(world.pick(2) == 0 ? 0 : 200'000, drive.now));
    std::optional<ReadOutcome> outcome;
    const auto before = reader->positions();
    drive.run(*reader, [&] { return (outcome = reader->poll_outcome()).has_value(); }, steps);
    if (!outcome) {
      reader->cancel_read(drive.now);
      outcome = reader->poll_outcome();
      REQUIRE(outcome == ReadOutcome::cancelled);
    }
    if (outcome != ReadOutcome::batch) {
      REQUIRE(reader->positions() == before);
      return false;
    }
    books.batch(reader->batch(), identity);
    identity = reader->batch().identity;
    for (const auto& partition : identity ? identity->partitions : std::vector<SourceIdentity::Partition>{})
      lives_seen.insert(partition.created_at_micros);
    return reader->batch().caught_up && reader->batch().records.count == 0 && reader->batch().gaps.empty();
  };
  for (int round = 0; round < 60; ++round) {
    read(200);
    if (world.pick(6) == 0) {
      // The application starts again with what it stored.
      options.from = reader->positions();
      options.identity = identity;
      if (identity) reader = std::make_unique<Reader>(options, names);
    }
    if (world.pick(8) == 0) reader->new_session(iggy::Dialect::s11);
  }
  troubled = false;
  drive.pass(6'000'000);
  int quiet = 0;
  for (int round = 0; round < 200 && quiet < 3; ++round) {
    drive.pass(1'500'000);
    quiet = read(2'000) ? quiet + 1 : 0;
  }
  REQUIRE(quiet == 3);
  for (const auto& key : world.all) {
    // A life that came and went between two looks at the topic was never this reader's to lose.
    if (!lives_seen.contains(key.life)) continue;
    const auto& records = server.topic->partitions.contains(static_cast<std::uint32_t>(key.partition))
                              ? server.partition(static_cast<std::uint32_t>(key.partition)).records
                              : std::vector<test::StoredRecord>{};
    const bool there = std::any_of(records.begin(), records.end(), [&](const test::StoredRecord& record) {
      return record.payload == named(key.life, static_cast<std::uint32_t>(key.partition), key.offset);
    });
    INFO("life " << key.life << " partition " << key.partition << " offset " << key.offset);
    const bool known = books.delivered.contains(key) || books.covers(key);
    // What was trimmed behind the last record there ever was may still be ahead of the reader: head 0 says
    // nothing.
    if (!there && key.offset == 0 && !known) continue;
    REQUIRE(known);
    if (there && !books.delivered.contains(key)) FAIL("still there, and only in a gap");
  }
}
