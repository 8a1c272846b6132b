#include "agdx/announce_form.hpp"
#include "agdx/envelopes.hpp"
#include "agdx/features.hpp"
#include "agdx/hello.hpp"
#include "agdx/levels.hpp"
#include "agdx/message.hpp"
#include "bytes/tape_map.hpp"

namespace tidemark::agdx {

namespace {

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
  tape::MapWriter set(tape);
  set.boolean("managed", fold.had("managed") || fold.ready);
  set.boolean("graph", fold.had("graph") || fold.serves("graph"));
  set.boolean("forks", fold.had("forks") || fold.serves("fork"));
  set.boolean("a2a_gateway", fold.had("a2a_gateway"));
  set.boolean("sessions", fold.had("sessions") || on(feature::sessions));
  set.boolean("watch", fold.had("watch") || on(feature::watch));
  set.boolean("authz", fold.had("authz") || fold.bit(feature::authz));
  set.boolean("stream_tenancy", fold.had("stream_tenancy") || on(feature::stream_tenancy));
  set.text("hello", name_of(hello));
  const auto versions =
      announce.get("versions").exists() ? announce.get("versions") : configured.get("versions");
  if (versions.is(tape::Tag::map)) {
    set.value("versions", versions.span());
  }
  const auto backends = announce.exists() ? announce.get("backends") : configured.get("backends");
  if (backends.is(tape::Tag::array))
    set.value("backends", backends.span());
  else
    set.at("backends").open(tape::Tag::array);
  {
    tape::MapWriter query(set.at("query"));
    const auto offers = [&](std::string_view key, auto holds) {
      return fold.had("query", key) || fold.any_query(holds);
    };
    const bool available = fold.serves("query") && fold.any_query([](tape::Value) { return true; });
    query.boolean("available", fold.had("query", "available") || available);
    query.text("consistency", fold.consistency());
    query.boolean("keyword", fold.had("query", "keyword") || on(feature::keyword_search));
    query.boolean("cursor_paging", offers("cursor_paging", [](tape::Value caps) {
                    return !each(caps.get("paging"),
                                 [](tape::Value item, std::uint32_t) { return item.text() != "cursor"; });
                  }));
    query.boolean("cancellation", offers("cancellation", [](tape::Value caps) {
                    return caps.get("cancellation").boolean();
                  }));
    query.boolean("execution_status", offers("execution_status", [](tape::Value caps) {
                    return caps.get("execution_status").boolean();
                  }));
  }
  {
    tape::MapWriter kv(set.at("kv"));
    kv.boolean("available", fold.had("kv", "available") || fold.serves("kv"));
    kv.boolean("cas", fold.had("kv", "cas") || on(feature::kv_cas));
    kv.boolean("cas_fenced",
               fold.had("kv", "cas_fenced") || on(feature::kv_cas_fenced | feature::kv_fenced_leases));
    kv.boolean("fenced_leases", fold.had("kv", "fenced_leases") || on(feature::kv_fenced_leases));
  }
  {
    tape::MapWriter destinations(set.at("destinations"));
    const bool announced = fold.serves("checkpoint") && on(feature::destinations);
    const auto configured_level = configured.get("destinations").get("consistency").text();
    destinations.boolean("available", fold.had("destinations", "available") || announced);
    destinations.text("consistency",
                      announced || configured_level == "linearizable" ? "linearizable" : "potentially_stale");
  }
  {
    tape::MapWriter filters(set.at("filters"));
    const auto served = announce.get("filters");
    filters.boolean("native", fold.had("filters", "native") || fold.bit(feature::consumer_filters));
    filters.boolean("catalog", fold.had("filters", "catalog"));
    filters.boolean("group_policy_reads",
                    fold.had("filters", "group_policy_reads") || fold.bit(feature::group_policy_reads));
    const auto wait =
        served.exists() ? served.get("max_wait_ms") : configured.get("filters").get("max_wait_ms");
    filters.u32("max_wait_ms", static_cast<std::uint32_t>(number(wait)));
    if (served.exists()) {
      tape::MapWriter evaluation(filters.at("evaluation"));
      evaluation.value("evaluator_version", served.get("evaluator_version").span());
      evaluation.value("codecs", served.get("codecs").span());
    }
  }
  if (const auto topology = announce.get("topology"); topology.is(tape::Tag::map))
    set.value("topology", topology.span());
}

}  // namespace

constexpr AnnounceForm whole_announce{read, write};

}  // namespace tidemark::agdx
