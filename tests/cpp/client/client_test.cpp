#include <catch2/catch_amalgamated.hpp>

#include "client_world.hpp"

namespace tidemark::client::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;

bytes::Buffer create_topic_args() {
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    map.text("stream_id", "s");
    map.u32("partitions_count", 1);
    map.text("name", "t");
  }
  return tape;
}

std::uint32_t open_reader(World& world, std::string_view mode) {
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    map.text("stream", "s");
    map.text("topic", "t");
    map.text("mode", mode);
    map.text("content", "records");
  }
  Problem problem;
  const auto reader = world.client.open_reader(tape::Value{tape}, problem);
  REQUIRE(reader != 0);
  return reader;
}

void fill(World& world, int count) {
  if (!world.log.topic) world.log.create_topic(1);
  for (int index = 0; index < count; ++index)
    world.log.partition(0).append({1, 2, 3}, static_cast<std::uint64_t>(1000 + index));
}

}  // namespace

TEST_CASE("connecting goes through every state, and hello is asked without being told to") {
  World world;
  world.log_in();
  CHECK(world.states == std::vector<std::string>{"dialing", "authenticating", "ready"});
  const auto probed = std::any_of(world.log.requests.begin(), world.log.requests.end(),
                                  [](const Request& request) { return request.command == 1'000'000; });
  CHECK(probed);
  const auto told = std::find_if(world.events.begin(), world.events.end(), [](const Event& event) {
    return tape::Value{event.tape}.get("type").text() == "capabilities";
  });
  REQUIRE(told != world.events.end());
  CHECK(tape::Value{told->tape}.get("capabilities").get("hello").text() == "rejected");
}

TEST_CASE("wrong credentials stop the dialling and say why") {
  World world;
  world.refuse_login = 42;
  world.log_in();
  CHECK(world.states.back() == "needs-auth");
  const tape::Value last{std::find_if(world.events.rbegin(), world.events.rend(), [](const Event& event) {
                           return tape::Value{event.tape}.get("type").text() == "connection";
                         })->tape};
  CHECK(last.get("error").get("kind").text() == "command");
  for (const auto& event : world.events)
    CHECK(bytes::as_text(event.tape).find("open sesame") == std::string_view::npos);
}

TEST_CASE("a silent server: the call fails in time, and the connection is replaced") {
  World world;
  world.log_in();
  world.silent = true;
  const auto ticket = world.client.call(201, {}, {.timeout_micros = 3 * kSecond}, world.now);
  world.serve();
  world.run_for(4 * kSecond);
  CHECK(world.failure(ticket).get("kind").text() == "timeout");
  world.run_for(30 * kSecond);
  CHECK(world.dialed > 1);
}

TEST_CASE("the request timeout that was asked for holds for calls and for reads") {
  bytes::Buffer tape;
  tape::Writer out(tape);
  tape::MapWriter(out).u32("request_timeout_ms", 700);
  World world{tape::Value{tape}};
  world.log_in();
  fill(world, 1);
  const auto reader = open_reader(world, "watch");
  world.silent = true;
  const auto ticket = world.client.call(201, {}, {}, world.now);
  REQUIRE(world.client.read(reader, 0, world.now));
  world.serve();
  world.run_for(kSecond);
  CHECK(world.failure(ticket).get("kind").text() == "timeout");
  const auto failed = std::any_of(world.events.begin(), world.events.end(), [](const Event& event) {
    return tape::Value{event.tape}.get("type").text() == "reader-failure";
  });
  CHECK(failed);
}

TEST_CASE("a cut in any state leads back to ready") {
  for (const int state : {0, 1, 2}) {
    World world;
    world.client.connect(world.now);
    world.collect();
    if (state > 0) world.open();
    if (state > 1) world.give_password();
    world.cut();
    world.come_back();
    CAPTURE(state);
    CHECK(world.states.back() == "ready");
  }
}

TEST_CASE("a read that is cut off goes on after the reconnect and loses nothing") {
  World world;
  fill(world, 10);
  world.log_in();
  const auto reader = open_reader(world, "watch");
  world.silent = true;
  REQUIRE(world.client.read(reader, 0, world.now));
  world.serve();
  world.cut();
  world.silent = false;
  world.come_back();
  world.serve();
  REQUIRE(world.batches(reader) == 1);
  CHECK(world.client.reader(reader)->reader().batch().count() == 10);
  CHECK(world.client.reader(reader)->positions().at(0).next == 10);
}

TEST_CASE("a cancelled read moves no offset, and the next one returns everything") {
  World world;
  fill(world, 5);
  world.log_in();
  const auto reader = open_reader(world, "watch");
  world.silent = true;
  REQUIRE(world.client.read(reader, 0, world.now));
  world.serve();
  world.client.cancel_read(reader, world.now);
  world.silent = false;
  world.serve();
  CHECK(world.batches(reader) == 0);
  REQUIRE(world.client.read(reader, 0, world.now));
  world.serve();
  CHECK(world.batches(reader) == 1);
  CHECK(world.client.reader(reader)->reader().batch().count() == 5);
}

TEST_CASE("a read that finds nothing left to ask is answered at once") {
  World world;
  world.log.create_topic(1);
  world.log.partition(0).append({1}, 5, UINT64_MAX);
  world.log.partition(0).shown_head = UINT64_MAX;
  world.log_in();
  const auto reader = open_reader(world, "durable");
  for (std::size_t batches = 1; batches <= 2; ++batches) {
    REQUIRE(world.client.read(reader, 0, world.now));
    world.serve();
    CHECK(world.batches(reader) == batches);
  }
}

TEST_CASE("a cancelled call gives no event, whatever the server answers") {
  World world;
  world.log_in();
  const auto ticket = world.client.call(201, {}, {}, world.now);
  world.client.cancel(ticket, world.now);
  world.serve();
  CHECK_FALSE(world.result(ticket).exists());
  CHECK_FALSE(world.failure(ticket).exists());
}

TEST_CASE("a create whose answer is lost is ambiguous, an ensured one is looked up") {
  const auto args = create_topic_args();
  for (const bool ensure : {false, true}) {
    World world;
    world.log_in();
    world.swallow_command = 302;
    const auto ticket = world.client.call(302, tape::Value{args}, {.ensure = ensure}, world.now);
    world.serve();
    REQUIRE(world.log.topic.has_value());
    world.cut();
    world.swallow_command = 0;
    world.come_back();
    world.serve();
    CAPTURE(ensure);
    CHECK(world.result(ticket).exists() == ensure);
    CHECK((world.failure(ticket).get("kind").text() == "ambiguous") == !ensure);
  }
}

TEST_CASE("a name that exists fails a create, and is what an ensured one wants") {
  const auto args = create_topic_args();
  World world;
  fill(world, 0);
  world.log_in();
  const auto plain = world.client.call(302, tape::Value{args}, {}, world.now);
  const auto ensured = world.client.call(302, tape::Value{args}, {.ensure = true}, world.now);
  world.serve();
  std::uint64_t code = 0;
  CHECK(world.failure(plain).get("code").to_u64(code));
  CHECK(code == 2013);
  CHECK(world.result(ensured).exists());
}

TEST_CASE("a refused argument is a failure event that names the field") {
  World world;
  world.log_in();
  bytes::Buffer tape;
  tape::Writer(tape).text("nonsense");
  const auto ticket = world.client.call(302, tape::Value{tape}, {}, world.now);
  world.collect();
  CHECK(world.failure(ticket).get("rule").exists());
}

TEST_CASE("closing fails everything that waits with kind closed, once") {
  World world;
  world.log_in();
  world.silent = true;
  const auto call = world.client.call(201, {}, {}, world.now);
  const auto probe = world.client.probe(world.now);
  const auto ready = world.client.wait_until_ready(60 * kSecond, world.now);
  const auto reader = open_reader(world, "durable");
  REQUIRE(world.client.read(reader, kSecond, world.now));
  world.client.close(world.now);
  world.serve();
  for (const auto ticket : {call, probe, ready}) CHECK(world.failure(ticket).get("kind").text() == "closed");
  CHECK(world.find("reader-failure", "reader", reader).get("error").get("kind").text() == "closed");
  CHECK(world.states.back() == "closed");
  const auto late = world.client.call(201, {}, {}, world.now);
  world.serve();
  CHECK(world.failure(late).get("kind").text() == "closed");
}

TEST_CASE("every new session is probed anew") {
  World world;
  world.log_in();
  world.cut();
  world.come_back();
  const auto probes = std::count_if(world.log.requests.begin(), world.log.requests.end(),
                                    [](const Request& request) { return request.command == 1'000'000; });
  CHECK(probes == 2);
}

namespace {

bytes::Buffer place_args() {
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    map.text("stream_id", "s");
    map.text("topic_id", "t");
  }
  return tape;
}

bytes::Buffer offset_args() {
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    auto& consumer = map.at("consumer");
    {
      tape::MapWriter inner(consumer);
      inner.text("id", "me");
    }
    map.text("stream_id", "s");
    map.text("topic_id", "t");
    map.u32("partition_id", 1);
  }
  return tape;
}

}  // namespace

TEST_CASE("a call is written and read as the session speaks that carries it, whenever it was made") {
  World world;
  world.log.dialect = iggy::Dialect::v12;
  world.log.create_topic(2);
  world.client.connect(world.now);
  // Nobody knows yet how the server speaks.
  const auto call = world.client.call(iggy::code::kGetTopic, tape::Value{place_args()}, {}, world.now);
  const auto reader = open_reader(world, "watch");
  fill(world, 3);
  REQUIRE(world.client.read(reader, 0, world.now));
  world.open();
  world.give_password();
  REQUIRE(world.states.back() == "ready");
  CHECK(world.result(call).get("value").get("partitions").count() == 2);
  CHECK(world.batches(reader) == 1);

  // The server is replaced by one of the stable release, and the next call is asked before that is known.
  world.cut();
  world.log.dialect = iggy::Dialect::s11;
  const auto later = world.client.call(iggy::code::kGetTopic, tape::Value{place_args()}, {}, world.now);
  world.come_back();
  REQUIRE(world.states.back() == "ready");
  CHECK(world.result(later).get("value").get("partitions").count() == 2);
}

TEST_CASE("a command about a partition carries its context, and the new one when it was made anew") {
  World world;
  world.log.dialect = iggy::Dialect::v12;
  world.log.create_topic(2);
  world.log_in();
  const auto first = world.client.call(iggy::code::kGetOffset, tape::Value{offset_args()}, {}, world.now);
  world.serve();
  CHECK(world.result(first).get("value").is(tape::Tag::null));
  CHECK(world.log.requests.back().context.incarnation == world.log.partition(1).created_at);
  world.log.recreate_after_route = true;
  const auto second = world.client.call(iggy::code::kGetOffset, tape::Value{offset_args()}, {}, world.now);
  world.serve();
  CHECK(world.result(second).get("value").is(tape::Tag::null));
  CHECK(world.log.requests.back().context.incarnation == world.log.partition(1).created_at);
}

TEST_CASE("a lost connection to a server of 0.12.2 is bound again, a forgotten session logs in anew") {
  World world;
  world.log.dialect = iggy::Dialect::v12;
  world.log_in();
  fill(world, 3);
  const auto reader = open_reader(world, "durable");
  const auto reconnect = [&] {
    world.client.reconnect(world.now);
    world.open();
  };
  reconnect();
  CHECK(world.binds == 1);
  CHECK(world.states.back() == "ready");
  REQUIRE(world.client.read(reader, 0, world.now));
  world.serve();
  CHECK(world.batches(reader) == 1);
  world.session_gone = true;
  reconnect();
  CHECK(world.states.back() == "authenticating");
  world.give_password();
  CHECK(world.states.back() == "ready");
}

TEST_CASE("a reader that is closed or cancelled takes back what the server waits for") {
  for (const bool close : {false, true}) {
    World world;
    world.log.dialect = iggy::Dialect::v12;
    world.log_in();
    fill(world, 3);
    const auto reader = open_reader(world, "durable");
    REQUIRE(world.client.read(reader, 0, world.now));
    world.serve();
    world.swallow_command = iggy::code::kDeferredPoll;
    REQUIRE(world.client.read(reader, 100'000, world.now));
    world.serve();
    REQUIRE(world.log.requests.back().command == iggy::code::kDeferredPoll);
    if (close)
      world.client.close_reader(reader);
    else
      world.client.cancel_read(reader, world.now);
    world.serve();
    CHECK(world.log.requests.back().command == iggy::code::kCancelDeferred);
  }
}

}  // namespace tidemark::client::test
