#include "agdx/announce_form.hpp"
#include "agdx/features.hpp"
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

bool read_backend(cbor::CompactReader& in, tape::Writer& out) {
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
  const auto mark = out.open(tape::Tag::map);
  out.key("desired_state");
  out.text(enabled ? "enabled" : "disabled");
  out.key("observed_state");
  out.text(observed_ready ? "ready" : "unavailable");
  out.key("readiness");
  const auto inner = out.open(tape::Tag::map);
  out.key("ready");
  out.boolean(ready);
  out.close(inner, 1);
  out.close(mark, 3);
  return in.ok();
}

// `enveloped` is what a key `reply` holds.
bool read_one(std::span<const std::uint8_t> reply, bytes::Buffer& announce,
              std::span<const std::uint8_t>& enveloped) {
  cbor::CompactReader in(reply);
  tape::Writer out(announce);
  bool versions = false;
  bool ready = true;
  std::uint32_t count = 0;
  const auto mark = out.open(tape::Tag::map);
  const auto key_of = [&](std::string_view key) {
    ++count;
    out.key(key);
  };
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
      key_of(key);
      const auto map = out.open(tape::Tag::map);
      out.key("features");
      out.u64(features);
      out.close(map, 1);
    } else if (key == "topology" && in.peek() == cbor::Major::map) {
      key_of(key);
      const auto map = out.open(tape::Tag::map);
      std::uint32_t names = 0;
      entries(in, [&](std::string_view name) {
        if (name != "ops_stream" && name != "changes_topic") return false;
        ++names;
        out.key(name);
        out.text(in.text());
        return true;
      });
      out.close(map, names);
    } else if (key == "backends") {
      key_of(key);
      const auto list = out.open(tape::Tag::array);
      std::uint32_t items = 0;
      for (auto array = in.array(); in.next(array); ++items) read_backend(in, out);
      out.close(list, items);
    } else {
      return false;
    }
    return true;
  });
  key_of("ready");
  out.boolean(ready);
  out.close(mark, count);
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
  std::uint64_t features = 0;
  announce.get("versions").get("features").to_u64(features);
  const bool ready = announce.get("ready").boolean();
  const auto topology = announce.get("topology");
  tape::Writer set(out);
  const auto mark = set.open(tape::Tag::map);
  set.key("managed");
  set.boolean(ready);
  set.key("watch");
  set.boolean(ready && (features & feature::watch) != 0);
  set.key("stream_tenancy");
  set.boolean(ready && (features & feature::stream_tenancy) != 0);
  set.key("hello");
  set.text(name_of(hello));
  if (topology.exists()) {
    set.key("topology");
    set.copy(topology.span());
  }
  set.close(mark, topology.exists() ? 5 : 4);
}

}  // namespace

constexpr AnnounceForm brief_announce{read, write};

}  // namespace tidemark::agdx
