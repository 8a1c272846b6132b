#include "agdx/announce_form.hpp"
#include "agdx/features.hpp"
#include "agdx/message.hpp"
#include "bytes/tape_map.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {
namespace {

// Walks a map; `entry(key)` takes the value and says true, or leaves it to be passed over.
template <class Entry>
void entries(cbor::CompactReader& in, Entry entry) {
  auto map = in.map();
  while (in.next(map)) {
    const auto key = in.text();
    if (!entry(key)) in.skip();
  }
}

void read_backend(cbor::CompactReader& in, tape::Writer& out) {
  bool enabled = false;
  bool observed_ready = false;
  bool ready = false;
  entries(in, [&](std::string_view key) {
    if (key == "desired_state")
      enabled = in.text() == "enabled";
    else if (key == "observed_state")
      observed_ready = in.text() == "ready";
    else if (key == "readiness")
      entries(in, [&](std::string_view inner) {
        if (inner != "ready") return false;
        ready = in.boolean();
        return true;
      });
    else
      return false;
    return true;
  });
  tape::MapWriter backend(out);
  backend.text("desired_state", enabled ? "enabled" : "disabled");
  backend.text("observed_state", observed_ready ? "ready" : "unavailable");
  tape::MapWriter(backend.at("readiness")).boolean("ready", ready);
}

// `enveloped` is what a key `reply` holds.
bool read_one(std::span<const std::uint8_t> reply, bytes::Buffer& announce,
              std::span<const std::uint8_t>& enveloped) {
  cbor::CompactReader in(reply);
  tape::Writer out(announce);
  bool versions = false;
  bool ready = true;
  tape::MapWriter kept(out);
  entries(in, [&](std::string_view key) {
    if (key == "reply") {
      // Only a plain byte string: another form lies in the reader, and goes with it.
      enveloped = in.peek() == cbor::Major::bytes ? in.bytes() : std::span<const std::uint8_t>{};
    } else if (key == "ready") {
      ready = in.boolean();
    } else if (key == "versions") {
      versions = true;
      std::uint64_t features = 0;
      entries(in, [&](std::string_view name) {
        if (name != "features") return false;
        features = in.u64();
        return true;
      });
      tape::MapWriter(kept.at(key)).u64("features", features);
    } else if (key == "topology" && in.peek() == cbor::Major::map) {
      tape::MapWriter topology(kept.at(key));
      entries(in, [&](std::string_view name) {
        if (name != "ops_stream" && name != "changes_topic") return false;
        topology.text(name, in.text());
        return true;
      });
    } else if (key == "backends") {
      const auto list = kept.at(key).open(tape::Tag::array);
      std::uint32_t items = 0;
      for (auto array = in.array(); in.next(array); ++items) read_backend(in, out);
      out.close(list, items);
    } else {
      return false;
    }
    return true;
  });
  kept.boolean("ready", ready);
  in.expect_end();
  return in.ok() && versions;
}

bool read(std::span<const std::uint8_t> reply, bytes::Buffer& announce) {
  std::span<const std::uint8_t> enveloped;
  if (read_one(reply, announce, enveloped)) return true;
  announce.clear();
  std::span<const std::uint8_t> none;
  return !enveloped.empty() && read_one(enveloped, announce, none);
}

void write(tape::Value, tape::Value announce, Hello hello, bytes::Buffer& out) {
  const auto features = number(announce.get("versions").get("features"));
  const bool ready = announce.get("ready").boolean();
  tape::Writer tape(out);
  tape::MapWriter set(tape);
  set.boolean("managed", ready);
  set.boolean("watch", ready && (features & feature::watch) != 0);
  set.boolean("stream_tenancy", ready && (features & feature::stream_tenancy) != 0);
  set.text("hello", name_of(hello));
  if (const auto topology = announce.get("topology"); topology.exists())
    set.value("topology", topology.span());
}

}  // namespace

constexpr AnnounceForm brief_announce{read, write};

}  // namespace tidemark::agdx
