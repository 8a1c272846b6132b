#include "agdx/capabilities.hpp"

#include "agdx/levels.hpp"
#include "agdx/message.hpp"

namespace tidemark::agdx {

std::string_view name_of(Hello hello) {
  static constexpr std::string_view names[] = {"unknown", "answered", "rejected", "failed"};
  return names[static_cast<std::size_t>(hello)];
}

bool is_enabled(tape::Value backend) { return backend.get("desired_state").text() == "enabled"; }

bool is_unready(tape::Value backend) {
  return is_enabled(backend) && (backend.get("observed_state").text() != "ready" ||
                                 !backend.get("readiness").get("ready").boolean());
}

std::uint32_t unready_backends(tape::Value capabilities) {
  std::uint32_t count = 0;
  each(capabilities.get("backends"), [&](tape::Value backend, std::uint32_t) {
    count += is_unready(backend) ? 1 : 0;
    return true;
  });
  return count;
}

bool all_ready(tape::Value backends) {
  bool enabled = false;
  const bool none_unready = each(backends, [&](tape::Value backend, std::uint32_t) {
    enabled = enabled || is_enabled(backend);
    return !is_unready(backend);
  });
  return enabled && none_unready;
}

bool is_ready(tape::Value capabilities) {
  return capabilities.get("managed").boolean() && all_ready(capabilities.get("backends"));
}

bool serves_consistency(tape::Value capabilities, std::string_view level) {
  const auto asked = level_of(level);
  const auto served = level_of(capabilities.get("query").get("consistency").text());
  return asked < std::size(levels) && served < std::size(levels) && asked <= served;
}

Capabilities::Capabilities(std::span<const std::uint8_t> configured, const AnnounceForm& form)
    : form_(form), configured_(configured.begin(), configured.end()) {
  reset(Hello::unknown);
}

void Capabilities::reset(Hello hello) {
  hello_ = hello;
  hold({});
}

void Capabilities::answered(tape::Value announce) {
  hello_ = Hello::answered;
  hold(announce);
  const auto topology = announce.get("topology");
  if (!topology.is(tape::Tag::map)) return;
  const auto span = topology.span();
  topology_.assign(span.begin(), span.end());
}

void Capabilities::hold(tape::Value announce) {
  held_.clear();
  const tape::Value configured{configured_};
  form_.write(configured, announce, hello_, held_);
  // Not of the held set: a brief one has no backends.
  const auto backends = (announce.exists() ? announce : configured).get("backends");
  has_backends_ = backends.count() > 0;
  backends_ready_ = value().get("managed").boolean() && all_ready(backends);
}

FeedTopic Capabilities::feed_topic(std::string_view scope) const {
  return agdx::feed_topic(topology(), value().get("stream_tenancy").boolean(), scope);
}

}  // namespace tidemark::agdx
