#include "agdx/frontier.hpp"

#include <string_view>
#include <utility>

#include "agdx/message.hpp"

namespace tidemark::agdx {

void SeenFrontier::observe(tape::Value frontier) {
  for (const auto* surface : surfaces_) {
    const auto position = frontier.get(surface);
    if (!position.is(tape::Tag::map)) continue;
    observe(surface,
            {number(position.get("topic_generation")),
             static_cast<std::uint32_t>(number(position.get("partition"))), number(position.get("offset"))});
  }
}

void SeenFrontier::observe(const char* surface, const MutationPosition& position) {
  const auto order = [](const MutationPosition& one) { return std::pair{one.topic_generation, one.offset}; };
  for (std::size_t index = 0; index < seen_.size(); ++index) {
    if (std::string_view{surface} != surfaces_[index]) continue;
    auto& held = seen_[index];
    if (!held || order(*held) < order(position)) held = position;
  }
}

std::optional<MutationPosition> SeenFrontier::seen(const char* surface) const {
  for (std::size_t index = 0; index < seen_.size(); ++index)
    if (std::string_view{surface} == surfaces_[index]) return seen_[index];
  return std::nullopt;
}

}  // namespace tidemark::agdx
