#include "feed/reader.hpp"

#include <algorithm>
#include <utility>

#include "feed/durable_reading.hpp"
#include "feed/reading.hpp"
#include "feed/watch_reading.hpp"

namespace tidemark::feed {
namespace {

bool is_name(const std::string& name) { return !name.empty() && name.size() <= 255; }

void ascending(std::variant<Start, Positions>& from) {
  if (auto* positions = std::get_if<Positions>(&from)) feed::ascending(*positions);
}

ReaderOptions checked(ReaderOptions options) {
  options.batch = std::clamp<std::uint32_t>(options.batch, 1, 10'000);
  options.byte_cap = std::max<std::uint32_t>(options.byte_cap, 1);
  ascending(options.from);
  return options;
}

}  // namespace

Reader::Reader(ReaderOptions options, agdx::NameTable& names)
    : state_(std::make_unique<ReadState>(checked(std::move(options)), names)) {
  if (state_->options.mode == ReaderMode::watch)
    reading_ = std::make_unique<WatchReading>(*state_);
  else
    reading_ = std::make_unique<DurableReading>(*state_);
  seek(state_->options.from, state_->options.identity);
}

Reader::~Reader() = default;

bool Reader::read(std::uint64_t wait_micros, Now now) {
  if (state_->under_way) return false;
  state_->under_way = true;
  state_->outcome.reset();
  if (!is_name(state_->options.stream) || !is_name(state_->options.topic)) {
    Error error;
    error.rule = Rule::name_length;
    error.set_path(is_name(state_->options.stream) ? "topic" : "stream");
    state_->fail(failure_of(error));
    state_->failure.kind = FailureKind::invalid;
    return true;
  }
  reading_->start(wait_micros, now);
  return true;
}

void Reader::cancel_read(Now) {
  if (!state_->under_way) return;
  reading_->abandon();
  state_->end(ReadOutcome::cancelled);
}

bool Reader::reading() const { return state_->under_way; }

std::optional<ReadOutcome> Reader::poll_outcome() { return std::exchange(state_->outcome, std::nullopt); }

const ReaderBatch& Reader::batch() const { return state_->batch; }
const Failure& Reader::failure() const { return state_->failure; }

std::optional<ReaderState> Reader::poll_state() {
  if (state_->reported == state_->now_in) return std::nullopt;
  return state_->reported = state_->now_in;
}

const Positions& Reader::positions() const { return state_->positions; }

bool Reader::seek(std::variant<Start, Positions> to, std::optional<SourceIdentity> identity) {
  if (state_->under_way) return false;
  ascending(to);
  const auto* positions = std::get_if<Positions>(&to);
  state_->positions = positions == nullptr ? Positions{} : *positions;
  state_->identity = positions == nullptr ? std::nullopt : std::move(identity);
  state_->from = std::move(to);
  reading_->seek();
  return true;
}

void Reader::new_session(iggy::Dialect dialect) {
  state_->dialect = dialect;
  reading_->new_session();
}

std::optional<Request> Reader::poll_request(Now now) { return reading_->poll_request(now); }

void Reader::on_reply(std::uint32_t tag, const Reply& reply, Now now) { reading_->on_reply(tag, reply, now); }

std::optional<std::uint64_t> Reader::poll_deadline() const { return reading_->poll_deadline(); }

void Reader::expire(Now now) { reading_->expire(now); }

}  // namespace tidemark::feed
