#include <catch2/catch_amalgamated.hpp>
#include <filesystem>

#include "agdx/capabilities.hpp"
#include "agdx/managed_fixture.hpp"

using namespace tidemark;
using namespace tidemark::agdx;

namespace {

std::vector<std::string> hello_replies() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TIDEMARK_VECTORS "/agdx")) {
    const auto name = entry.path().stem().string();
    if (entry.path().extension() != ".bin") continue;
    for (const auto* kind : {"announce_", "backend_announce", "hello_"})
      if (name.starts_with(kind)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Capabilities held_after(std::span<const std::uint8_t> reply, const AnnounceForm& form) {
  Capabilities held({}, form);
  bytes::Buffer announce;
  if (form.read(reply, announce))
    held.answered(tape::Value{announce});
  else
    held.failed();
  return held;
}

}  // namespace

TEST_CASE("what the brief announce keeps is what the whole one says") {
  const auto names = hello_replies();
  REQUIRE(names.size() > 20);
  std::size_t answered = 0;
  for (const auto& name : names) {
    INFO(name);
    const auto reply = agdx::test::payload(name);
    const auto whole = held_after(reply, whole_announce);
    // It reads no descriptors, so that it cannot refuse one.
    if (whole.hello() != Hello::answered) continue;
    ++answered;
    const auto brief = held_after(reply, brief_announce);
    CHECK(brief.hello() == Hello::answered);
    for (const auto* key : {"managed", "watch", "stream_tenancy"})
      CHECK(brief.value().get(key).boolean() == whole.value().get(key).boolean());
    CHECK(brief.value().get("hello").text() == "answered");
    CHECK(brief.has_backends() == whole.has_backends());
    CHECK(brief.backends_ready() == whole.backends_ready());
    CHECK(brief.feed_topic({}).stream == whole.feed_topic({}).stream);
    CHECK(brief.feed_topic({}).topic == whole.feed_topic({}).topic);
    CHECK(brief.value().get("topology").exists() == whole.value().get("topology").exists());
  }
  CHECK(answered > 10);
}

TEST_CASE("an announce that is cut anywhere is none, in its brief form too") {
  for (const auto& name : hello_replies()) {
    const auto reply = agdx::test::payload(name);
    if (held_after(reply, brief_announce).hello() != Hello::answered) continue;
    for (std::size_t length = 0; length < reply.size(); ++length) {
      // A buffer of its own, so that the sanitizer sees a read past it.
      const bytes::Buffer cut(reply.begin(), reply.begin() + static_cast<std::ptrdiff_t>(length));
      INFO(name << " cut at " << length);
      CHECK(held_after(cut, brief_announce).hello() == Hello::failed);
    }
  }
}

TEST_CASE("a brief announce is read in its envelope, and not in one within another") {
  const auto reply = agdx::test::payload("announce_ready_one_backend");
  const auto enveloped = [](std::span<const std::uint8_t> inner) {
    bytes::Buffer out{0xA2, 0x61, 'v', 0x01, 0x65, 'r', 'e', 'p', 'l', 'y', 0x59};
    out.push_back(static_cast<std::uint8_t>(inner.size() >> 8));
    out.push_back(static_cast<std::uint8_t>(inner.size()));
    out.insert(out.end(), inner.begin(), inner.end());
    return out;
  };
  const auto once = enveloped(reply);
  CHECK(held_after(once, whole_announce).hello() == Hello::answered);
  CHECK(held_after(once, brief_announce).hello() == Hello::answered);
  CHECK(held_after(once, brief_announce).value().get("managed").boolean());
  CHECK(held_after(enveloped(once), brief_announce).hello() == Hello::failed);
}

TEST_CASE("an announced topology is part of the set") {
  const auto held = held_after(agdx::test::payload("backend_announce_topology"), whole_announce);
  const auto topology = held.value().get("topology");
  REQUIRE(topology.exists());
  CHECK(topology.get("changes_topic").text() == held.feed_topic({}).topic);
}
