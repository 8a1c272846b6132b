#include "client/events.hpp"

#include <utility>

#include "bytes/tape_map.hpp"

namespace tidemark::client {
namespace {

std::string_view state_name(feed::ReaderState state) {
  constexpr std::string_view names[] = {"reading", "idle", "waiting_for_source"};
  return names[static_cast<std::size_t>(state)];
}

template <class Fill>
bytes::Buffer event(std::string_view type, Fill fill) {
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    map.text("type", type);
    fill(map);
  }
  return tape;
}

}  // namespace

std::optional<Event> Events::next() {
  if (taken_ < queue_.size()) return std::move(queue_[taken_++]);
  queue_.clear();
  taken_ = 0;
  return std::nullopt;
}

void Events::raw(bytes::Buffer tape) { queue_.push_back({Event::Kind::tape, 0, std::move(tape), 0, {}}); }

void Events::generation_only(std::string_view type, std::uint32_t generation) {
  raw(event(type, [&](tape::MapWriter& map) { map.u32("generation", generation); }));
}

void Events::capabilities(std::span<const std::uint8_t> value) {
  raw(event("capabilities", [&](tape::MapWriter& map) { map.value("capabilities", value); }));
}

void Events::result(std::uint32_t ticket, std::span<const std::uint8_t> value) {
  raw(event("result", [&](tape::MapWriter& map) {
    map.u32("ticket", ticket);
    map.value("value", value);
  }));
}

void Events::failure(std::uint32_t ticket, const Problem& problem) {
  raw(event("failure", [&](tape::MapWriter& map) {
    map.u32("ticket", ticket);
    write(map.at("error"), problem);
  }));
}

void Events::page(std::uint32_t ticket, std::shared_ptr<const agdx::QueryReplyDecoder> page) {
  queue_.push_back({Event::Kind::page, 0, {}, ticket, std::move(page)});
}

void Events::batch(std::uint32_t reader) { queue_.push_back({Event::Kind::batch, reader, {}, 0, {}}); }

void Events::reader_failure(std::uint32_t reader, const Problem& problem) {
  auto tape = event("reader-failure", [&](tape::MapWriter& map) {
    map.u32("reader", reader);
    write(map.at("error"), problem);
  });
  queue_.push_back({Event::Kind::tape, reader, std::move(tape), 0, {}});
}

void Events::reader_state(std::uint32_t reader, feed::ReaderState state) {
  auto tape = event("reader-state", [&](tape::MapWriter& map) {
    map.u32("reader", reader);
    map.text("state", state_name(state));
  });
  queue_.push_back({Event::Kind::tape, reader, std::move(tape), 0, {}});
}

void Events::forget_reader(std::uint32_t reader) {
  // What was handed over goes along: it is an empty shell.
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  std::erase_if(queue_, [&](const Event& one) { return one.reader == reader; });
}

}  // namespace tidemark::client
