#include "agdx/announce_form.hpp"
#include "agdx/envelopes.hpp"
#include "agdx/features.hpp"
#include "agdx/hello.hpp"
#include "agdx/levels.hpp"
#include "agdx/message.hpp"

namespace tidemark::agdx {

namespace {

void put_value(bytes::Buffer& out, tape::Value value) {
  const auto span = value.span();
  out.insert(out.end(), span.begin(), span.end());
}

// Counts entries while they are written.
class Map {
 public:
  explicit Map(tape::Writer& tape) : tape_(tape), mark_(tape.open(tape::Tag::map)) {}
  ~Map() { tape_.close(mark_, count_); }
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  void key(std::string_view name) {
    tape_.key(name);
    ++count_;
  }
  void flag(std::string_view name, bool value) {
    key(name);
    tape_.boolean(value);
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    tape_.text(value);
  }

 private:
  tape::Writer& tape_;
  std::size_t mark_;
  std::uint32_t count_ = 0;
};

struct Fold {
  tape::Value configured;
  tape::Value announce;
  std::uint64_t features = 0;
  bool ready = false;

  bool bit(std::uint64_t feature) const { return (features & feature) != 0; }
  bool serves(std::string_view surface) const {
    return ready && number(announce.get("versions").get(surface)) > 0;
  }
  bool had(std::string_view key) const { return configured.get(key).boolean(); }
  bool had(std::string_view group, std::string_view key) const {
    return configured.get(group).get(key).boolean();
  }

  // Whether a ready descriptor with query capabilities satisfies `holds(query)`.
  template <class Holds>
  bool any_query(Holds holds) const {
    if (!ready) return false;
    return !each(announce.get("backends"), [&](tape::Value backend, std::uint32_t) {
      const auto query = backend.get("query");
      return !query.exists() || !backend.get("readiness").get("ready").boolean() || !holds(query);
    });
  }

  std::string_view consistency() const {
    auto highest = level_of(configured.get("query").get("consistency").text());
    if (highest == std::size(levels)) highest = 0;
    const auto raise = [&](std::size_t level) {
      highest = level < std::size(levels) && level > highest ? level : highest;
    };
    if (ready && bit(feature::read_your_writes)) raise(1);
    if (ready && bit(feature::strong_consistency)) raise(2);
    any_query([&](tape::Value query) {
      each(query.get("consistency"), [&](tape::Value name, std::uint32_t) {
        raise(level_of(name.text()));
        return true;
      });
      return false;
    });
    return levels[highest];
  }
};

bool read(std::span<const std::uint8_t> reply, bytes::Buffer& announce) {
  bytes::Buffer envelope;
  if (!decode(managed_reply_envelope, reply, envelope)) reply = tape::Value{envelope}.get("reply").bytes();
  return !decode(backend_announce, reply, announce) && !validate(backend_announce, tape::Value{announce});
}

// { managed, graph, forks, a2a_gateway, sessions, watch, authz, stream_tenancy: bool, hello, versions?,
// backends,
//   query { available, consistency, keyword, cursor_paging, cancellation, execution_status },
//   kv { available, cas, cas_fenced, fenced_leases }, destinations { available, consistency },
//   filters { native, catalog, group_policy_reads, max_wait_ms, evaluation? }, topology? }
void write(tape::Value configured, tape::Value announce, Hello hello, bytes::Buffer& out) {
  Fold fold{configured, announce};
  fold.features = number(announce.get("versions").get("features"));
  fold.ready = announce.get("ready").boolean();
  const auto on = [&](std::uint64_t feature) { return fold.ready && fold.bit(feature); };

  tape::Writer tape(out);
  Map set(tape);
  set.flag("managed", fold.had("managed") || fold.ready);
  set.flag("graph", fold.had("graph") || fold.serves("graph"));
  set.flag("forks", fold.had("forks") || fold.serves("fork"));
  set.flag("a2a_gateway", fold.had("a2a_gateway"));
  set.flag("sessions", fold.had("sessions") || on(feature::sessions));
  set.flag("watch", fold.had("watch") || on(feature::watch));
  set.flag("authz", fold.had("authz") || fold.bit(feature::authz));
  set.flag("stream_tenancy", fold.had("stream_tenancy") || on(feature::stream_tenancy));
  set.text("hello", name_of(hello));
  const auto versions =
      announce.get("versions").exists() ? announce.get("versions") : configured.get("versions");
  if (versions.is(tape::Tag::map)) {
    set.key("versions");
    put_value(out, versions);
  }
  set.key("backends");
  const auto backends = announce.exists() ? announce.get("backends") : configured.get("backends");
  if (backends.is(tape::Tag::array))
    put_value(out, backends);
  else
    tape.open(tape::Tag::array);
  {
    set.key("query");
    Map query(tape);
    const auto offers = [&](std::string_view key, auto holds) {
      return fold.had("query", key) || fold.any_query(holds);
    };
    const bool available = fold.serves("query") && fold.any_query([](tape::Value) { return true; });
    query.flag("available", fold.had("query", "available") || available);
    query.text("consistency", fold.consistency());
    query.flag("keyword", fold.had("query", "keyword") || on(feature::keyword_search));
    query.flag("cursor_paging", offers("cursor_paging", [](tape::Value caps) {
                 return !each(caps.get("paging"),
                              [](tape::Value item, std::uint32_t) { return item.text() != "cursor"; });
               }));
    query.flag("cancellation",
               offers("cancellation", [](tape::Value caps) { return caps.get("cancellation").boolean(); }));
    query.flag("execution_status", offers("execution_status", [](tape::Value caps) {
                 return caps.get("execution_status").boolean();
               }));
  }
  {
    set.key("kv");
    Map kv(tape);
    kv.flag("available", fold.had("kv", "available") || fold.serves("kv"));
    kv.flag("cas", fold.had("kv", "cas") || on(feature::kv_cas));
    kv.flag("cas_fenced",
            fold.had("kv", "cas_fenced") || on(feature::kv_cas_fenced | feature::kv_fenced_leases));
    kv.flag("fenced_leases", fold.had("kv", "fenced_leases") || on(feature::kv_fenced_leases));
  }
  {
    set.key("destinations");
    Map destinations(tape);
    const bool announced = fold.serves("checkpoint") && on(feature::destinations);
    const auto configured_level = configured.get("destinations").get("consistency").text();
    destinations.flag("available", fold.had("destinations", "available") || announced);
    destinations.text("consistency",
                      announced || configured_level == "linearizable" ? "linearizable" : "potentially_stale");
  }
  {
    set.key("filters");
    Map filters(tape);
    const auto served = announce.get("filters");
    filters.flag("native", fold.had("filters", "native") || fold.bit(feature::consumer_filters));
    filters.flag("catalog", fold.had("filters", "catalog"));
    filters.flag("group_policy_reads",
                 fold.had("filters", "group_policy_reads") || fold.bit(feature::group_policy_reads));
    const auto wait =
        served.exists() ? served.get("max_wait_ms") : configured.get("filters").get("max_wait_ms");
    filters.key("max_wait_ms");
    tape.u32(static_cast<std::uint32_t>(number(wait)));
    if (served.exists()) {
      filters.key("evaluation");
      Map evaluation(tape);
      evaluation.key("evaluator_version");
      put_value(out, served.get("evaluator_version"));
      evaluation.key("codecs");
      put_value(out, served.get("codecs"));
    }
  }
  if (const auto topology = announce.get("topology"); topology.is(tape::Tag::map)) {
    set.key("topology");
    put_value(out, topology);
  }
}

}  // namespace

constexpr AnnounceForm whole_announce{read, write};

}  // namespace tidemark::agdx
