#include "agdx/managed_call.hpp"

#include <catch2/catch_amalgamated.hpp>

#include "agdx/envelopes.hpp"
#include "agdx/hello.hpp"
#include "agdx/managed_fixture.hpp"

using namespace tidemark;
using namespace tidemark::agdx;
using agdx::test::answer;
using agdx::test::Clock;
using agdx::test::drive;
using agdx::test::lost;
using agdx::test::payload;
using agdx::test::tape_of;

namespace {

struct Plane {
  Capabilities capabilities;
  SeenFrontier frontier;
  Random random{{1, 2, 3, 4}};
  Clock clock;

  explicit Plane(const char* announce = "announce_ready_one_backend") {
    bytes::Buffer tape;
    REQUIRE_FALSE(decode(backend_announce, payload(announce), tape));
    capabilities.answered(tape::Value{tape});
  }
  ManagedCall call(std::uint32_t code, const nlohmann::json& args, ManagedCallOptions options = {}) {
    const auto tape = tape_of(args);
    return {code, tape::Value{tape}, options, capabilities, frontier, random};
  }
};

const nlohmann::json set_args = {
    {"v", 1}, {"namespace", "n"}, {"key", {{"$bytes", {1}}}}, {"value", {{"$bytes", {2, 3}}}}};
const nlohmann::json get_args = {{"v", 1}, {"namespace", "n"}, {"key", {{"$bytes", {1}}}}};
const nlohmann::json lease_args = {{"v", 1},
                                   {"namespace", "n"},
                                   {"key", {{"$bytes", {1}}}},
                                   {"lease_ttl_micros", {{"$big", 1'500'000}}},
                                   {"holder_id", "edge-7"}};

}  // namespace

TEST_CASE("mutation_pending_repeats_same_identity: the same frame until the outcome is known") {
  const auto scenario = agdx::test::scenario("mutation_pending_repeats_same_identity");
  std::vector<bytes::Buffer> replies;
  for (const auto& name : scenario.at("replies")) replies.push_back(payload(name.get<std::string>()));
  Plane plane;
  auto call = plane.call(command::kv_set, set_args);
  const auto sent =
      drive(call, plane.clock, [&](std::size_t index, const Request&) { return answer(replies.at(index)); });
  CHECK(call.finished());
  CHECK_FALSE(call.failure());
  CHECK(tape::Value{call.value()}.is_null());
  REQUIRE(sent.size() == scenario.at("expect").at("frames_sent").get<std::size_t>());
  for (const auto& request : sent) {
    CHECK(request.body == sent.front().body);
    CHECK(request.repeat == Repeat::never);
  }
}

TEST_CASE("the pauses of a mutation double from 100 ms to 2 s, halved at most by chance") {
  Plane plane;
  auto call = plane.call(command::kv_set, set_args);
  std::vector<std::uint64_t> at;
  const auto sent = drive(call, plane.clock, [&](std::size_t, const Request&) {
    at.push_back(plane.clock.now.mono_micros);
    return lost();
  });
  std::uint64_t longest = 100'000;
  for (std::size_t index = 1; index < at.size(); ++index) {
    const auto pause = at[index] - at[index - 1];
    CHECK(pause >= longest / 2);
    CHECK(pause <= longest);
    longest = std::min<std::uint64_t>(longest * 2, 2'000'000);
  }
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::ambiguous);
  CHECK(call.failure()->operation_id == call.operation_id());
  CHECK_FALSE(call.operation_id() == tape::U128{});
  CHECK(at.back() - at.front() < 30'000'000);
  CHECK(at.size() > 15);
}

TEST_CASE("a wake long after the budget ends as ambiguous and sends nothing") {
  Plane plane;
  auto call = plane.call(command::kv_set, set_args);
  const auto request = call.poll_request(plane.clock.now);
  REQUIRE(request);
  call.on_reply(request->tag, lost(), plane.clock.now);
  plane.clock.advance(3'600'000'000);
  call.expire(plane.clock.now);
  CHECK_FALSE(call.poll_request(plane.clock.now));
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::ambiguous);
}

TEST_CASE("a mutation that fails for good is not repeated") {
  Plane plane;
  auto call = plane.call(command::kv_set, set_args);
  const auto refusal = payload("command_error_10");
  const auto sent = drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(refusal); });
  CHECK(sent.size() == 1);
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::command);
  CHECK(call.failure()->code == 10);
  CHECK(call.failure()->code_name == "forbidden");
}

TEST_CASE("a request that never left after one that may have is ambiguous") {
  Plane plane;
  auto call = plane.call(command::kv_set, set_args);
  drive(call, plane.clock, [&](std::size_t index, const Request&) {
    Reply reply;
    reply.outcome = index == 0 ? Outcome::unknown : Outcome::not_sent;
    return reply;
  });
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::ambiguous);
}

TEST_CASE("lease_uncertain_acquire: one frame, and the uncertainty is told after the asked lifetime") {
  const auto expect = agdx::test::scenario("lease_uncertain_acquire").at("expect");
  Plane plane;
  const auto started = plane.clock.now.mono_micros;
  auto call = plane.call(command::kv_lease, lease_args);
  const auto sent = drive(call, plane.clock, [&](std::size_t, const Request&) { return lost(); });
  CHECK(sent.size() == expect.at("acquire_frames_sent").get<std::size_t>());
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::ambiguous);
  CHECK(plane.clock.now.mono_micros - started >=
        micros_from_ms(expect.at("not_before_ms").get<std::uint64_t>()));
}

TEST_CASE("anything but a lease is no success of an acquire") {
  Plane plane;
  auto call = plane.call(command::kv_lease, lease_args);
  const auto written = payload("kvrep_written");
  drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(written); });
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::protocol);
  CHECK(call.failure()->error.rule == Rule::unexpected_outcome);
}

TEST_CASE("what the server does not serve is not sent") {
  Plane plane("announce_versions_only");
  auto call = plane.call(command::kv_lease, lease_args);
  CHECK(call.finished());
  CHECK_FALSE(call.poll_request(plane.clock.now));
  CHECK(call.failure()->kind == FailureKind::unsupported);
  CHECK(call.failure()->surface == "kv");
  CHECK(call.failure()->feature == "kv.fenced_leases");
  auto ungated = plane.call(command::kv_lease, lease_args, {0, true});
  CHECK(ungated.poll_request(plane.clock.now));
}

TEST_CASE("a request against a rule is not sent, and names the field") {
  Plane plane;
  auto args = get_args;
  args["namespace"] = "";
  auto call = plane.call(command::kv_get, args);
  CHECK(call.finished());
  CHECK(call.failure()->kind == FailureKind::invalid);
  CHECK(call.failure()->error.rule == Rule::kv_namespace);
  CHECK(call.failure()->error.path() == "namespace");
}

TEST_CASE("a later read asks for the position that an earlier reply has shown") {
  Plane plane;
  auto write = plane.call(command::kv_set, set_args);
  // The reply of the vector carries the position 512 of the kv surface.
  const auto positioned = payload("managed_reply_kv");
  drive(write, plane.clock, [&](std::size_t, const Request&) { return answer(positioned); });
  REQUIRE_FALSE(write.failure());

  auto read = plane.call(command::kv_get, get_args);
  const auto request = read.poll_request(plane.clock.now);
  REQUIRE(request);
  CHECK(request->repeat == Repeat::freely);
  bytes::Buffer envelope;
  REQUIRE_FALSE(decode(managed_read_envelope, request->body, envelope));
  CHECK(number(tape::Value{envelope}.get("min_position").get("offset")) == 512);
}

TEST_CASE("an older position never replaces a newer one") {
  SeenFrontier frontier;
  frontier.observe("kv", {5, 0, 10});
  frontier.observe("kv", {4, 0, 99});
  CHECK(frontier.seen("kv")->offset == 10);
  frontier.observe("kv", {6, 0, 1});
  CHECK(frontier.seen("kv")->topic_generation == 6);
  CHECK_FALSE(frontier.seen("fork"));
}

TEST_CASE("a surface error comes typed, with the code that it stands for") {
  Plane plane;
  auto call = plane.call(command::kv_get, get_args);
  const auto stale = payload("kverr_stale");
  drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(stale); });
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::surface);
  CHECK(call.failure()->surface == "kv");
  CHECK(call.failure()->code_name == "stale");
  CHECK(call.failure()->retryable == true);
  CHECK(tape::Value{call.failure()->detail}.get("Stale").get("required").exists());
}

TEST_CASE("control publish succeeds by the code ok") {
  Plane plane;
  auto call =
      plane.call(command::control_publish,
                 {{"v", 1}, {"timestamp_micros", {{"$big", 0}}}, {"command", {{"DropProjection", "p"}}}});
  bytes::Buffer ok;
  const auto reply = tape_of({{"code", "ok"}, {"message", ""}});
  REQUIRE_FALSE(encode(*reply_message(command::control_publish), tape::Value{reply}, ok));
  const auto sent = drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(ok); });
  CHECK_FALSE(call.failure());
  bytes::Buffer envelope;
  REQUIRE_FALSE(decode(managed_request_envelope, sent.front().body, envelope));
  CHECK_FALSE(validate(managed_request_envelope, tape::Value{envelope}));
}

TEST_CASE("an unknown outcome of a schema registration is told at once") {
  Plane plane;
  auto call =
      plane.call(command::register_schema, {{"v", 1}, {"source", {{"kind", "avro"}, {"schema", "{}"}}}});
  const auto sent = drive(call, plane.clock, [&](std::size_t, const Request&) { return lost(); });
  CHECK(sent.size() == 1);
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::ambiguous);
}

TEST_CASE("a browse reply gives its data") {
  Plane plane;
  auto call = plane.call(command::list_projections, {{"v", 1}, {"topics", {"readings"}}});
  const auto reply = payload("browse_reply_projections");
  drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(reply); });
  REQUIRE_FALSE(call.failure());
  const tape::Value list{call.value()};
  CHECK(list.count() == 1);
  CHECK(list.first().get("projection").get("id").text() == "reading.v1");
}

TEST_CASE("a batch must answer every item") {
  Plane plane;
  auto call = plane.call(command::batch, {{"v", 1}, {"ops", nlohmann::json::array()}});
  const auto reply = payload("batch_reply");
  drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(reply); });
  REQUIRE(call.failure());
  CHECK(call.failure()->error.rule == Rule::result_count);
}

TEST_CASE("a custom request hands its surface reply out, and still knows a command error") {
  Plane plane;
  const bytes::Buffer body{0xA0};
  const bytes::Buffer surface{0xA1, 0x62, 'O', 'k', 0x01};
  ManagedCall good(command::query, body, {}, {}, plane.capabilities, plane.frontier, plane.random);
  const auto sent = drive(good, plane.clock, [&](std::size_t, const Request&) { return answer(surface); });
  CHECK(sent.front().body == body);
  CHECK(good.payload() == surface);
  ManagedCall refused(command::query, body, {}, {}, plane.capabilities, plane.frontier, plane.random);
  const auto error = payload("command_error_18");
  drive(refused, plane.clock, [&](std::size_t, const Request&) { return answer(error); });
  REQUIRE(refused.failure());
  CHECK(refused.failure()->code_name == "target_unavailable");
}

TEST_CASE("a reply that is neither the surface's nor a command error is a codec error of the surface") {
  Plane plane;
  auto call = plane.call(command::kv_get, get_args);
  const auto unknown = payload("kvrep_raw_unknown_outcome");
  drive(call, plane.clock, [&](std::size_t, const Request&) { return answer(unknown); });
  REQUIRE(call.failure());
  CHECK(call.failure()->kind == FailureKind::codec);
  CHECK(call.failure()->error.rule == Rule::unknown_variant);
}
