#include "agdx/readiness.hpp"

#include <catch2/catch_amalgamated.hpp>

#include "agdx/managed_fixture.hpp"

using namespace tidemark;
using namespace tidemark::agdx;
using agdx::test::answer;
using agdx::test::Clock;
using agdx::test::drive;
using agdx::test::payload;

namespace {

std::string error_name(const std::optional<Failure>& failure) {
  if (!failure) return "";
  if (failure->kind == FailureKind::unsupported) return "UnsupportedError";
  if (failure->kind == FailureKind::timeout) return "TimeoutError";
  return std::string(failure_kind_name(failure->kind));
}

}  // namespace

TEST_CASE("readiness scenarios") {
  for (const auto* name :
       {"readiness_becomes_ready", "readiness_plain_iggy", "readiness_unsupported", "readiness_timeout"}) {
    DYNAMIC_SECTION(name) {
      const auto scenario = agdx::test::scenario(name);
      std::vector<bytes::Buffer> replies;
      bool repeat = false;
      for (const auto& entry : scenario.at("hello_replies")) {
        const auto reply = entry.get<std::string>();
        repeat = repeat || reply == "$repeat";
        if (reply != "$repeat") replies.push_back(reply == "$empty" ? bytes::Buffer{} : payload(reply));
      }
      Capabilities capabilities;
      Clock clock;
      const auto started = clock.now.mono_micros;
      const auto timeout = micros_from_ms(scenario.at("timeout_ms").get<std::uint64_t>());
      Readiness readiness(capabilities, timeout);
      const auto sent = drive(readiness, clock, [&](std::size_t index, const Request&) {
        REQUIRE((repeat || index < replies.size()));
        return answer(replies.at(std::min(index, replies.size() - 1)));
      });
      const auto& expect = scenario.at("expect");
      REQUIRE(readiness.finished());
      CHECK(error_name(readiness.failure()) == expect.value("error", std::string()));
      if (expect.contains("result")) CHECK(is_ready(capabilities.value()));
      if (expect.contains("probes")) CHECK(sent.size() == expect.at("probes").get<std::size_t>());
      CHECK(clock.now.mono_micros - started <= timeout);
      if (expect.value("error", std::string()) == "TimeoutError")
        CHECK(clock.now.mono_micros - started == timeout);
    }
  }
}

TEST_CASE("a failed probe is tried again until the deadline") {
  Capabilities capabilities;
  Clock clock;
  Readiness readiness(capabilities, micros_from_ms(250));
  const auto sent = drive(readiness, clock, [](std::size_t, const Request&) { return agdx::test::lost(); });
  REQUIRE(readiness.failure());
  CHECK(readiness.failure()->kind == FailureKind::timeout);
  CHECK(sent.size() == 4);
}

TEST_CASE("one probe is made without a timeout") {
  Capabilities capabilities;
  Clock clock;
  Readiness readiness(capabilities, 0);
  const auto ready = payload("announce_ready_one_backend");
  const auto sent = drive(readiness, clock, [&](std::size_t, const Request&) { return answer(ready); });
  CHECK(sent.size() == 1);
  CHECK_FALSE(readiness.failure());
}

TEST_CASE("a refused hello means no managed plane, any other failure means nothing") {
  Capabilities capabilities;
  const auto after = [&](Reply reply) {
    HelloProbe probe(capabilities);
    static_cast<void>(probe.poll_request({}));
    probe.on_reply(0, reply, {});
    CHECK(probe.finished());
    return capabilities.value().get("hello").text();
  };
  Reply refused;
  refused.outcome = Outcome::refused;
  refused.code = 3;
  CHECK(after(refused) == "rejected");
  refused.code = 40;
  CHECK(after(refused) == "failed");
  CHECK(after(answer(payload("announce_raw_unknown_mode"))) == "failed");
  CHECK(after(answer(payload("announce_bad_33_reasons"))) == "failed");
  CHECK(after(answer(payload("announce_ready_one_backend"))) == "answered");
  CHECK(capabilities.value().get("managed").boolean());
  CHECK(after(agdx::test::lost()) == "failed");
  CHECK_FALSE(capabilities.value().get("managed").boolean());
}

TEST_CASE("an announced topology stays until another is announced") {
  Capabilities capabilities;
  HelloProbe first(capabilities);
  const auto named = payload("backend_announce_topology");
  first.on_reply(0, answer(named), {});
  const auto feed = capabilities.feed_topic({});
  HelloProbe second(capabilities);
  const auto plain = payload("announce_ready_one_backend");
  second.on_reply(0, answer(plain), {});
  CHECK(capabilities.feed_topic({}).topic == feed.topic);
  CHECK(capabilities.feed_topic({}).stream == feed.stream);
  CHECK(capabilities.feed_topic("acme").topic == feed.topic);

  HelloProbe tenancy(capabilities);
  const auto scoped = payload("announce_stream_tenancy");
  tenancy.on_reply(0, answer(scoped), {});
  CHECK(capabilities.feed_topic("acme").topic == "stream:acme/_agdx/changes");
}

TEST_CASE("a configured set is added to, never taken from") {
  const auto configured = agdx::test::tape_of({{"watch", true}, {"query", {{"consistency", "strong"}}}});
  Capabilities capabilities(configured);
  CHECK(capabilities.value().get("watch").boolean());
  HelloProbe probe(capabilities);
  const auto versions = payload("announce_versions_only");
  probe.on_reply(0, answer(versions), {});
  CHECK(capabilities.value().get("watch").boolean());
  CHECK(serves_consistency(capabilities.value(), "read_your_writes"));
}
