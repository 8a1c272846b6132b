#include "feed/publish.hpp"

#include <algorithm>
#include <utility>

#include "bytes/reader.hpp"
#include "feed/reading.hpp"
#include "feed/topic_source.hpp"
#include "iggy/checksum.hpp"
#include "iggy/message_batch.hpp"
#include "iggy/primitives.hpp"

namespace tidemark::feed {
namespace {

constexpr std::uint32_t send_command = 101;
// A server takes 16 MiB in one WebSocket message; frame header, names and batch header need their part of it.
constexpr std::size_t request_limit = std::size_t{16} * 1024 * 1024;
constexpr std::size_t request_overhead = 4096;
constexpr std::uint64_t longest_backoff = 30'000'000;
constexpr std::uint32_t read_back_count = 1000;

constexpr std::uint32_t resource_not_found = 20;
constexpr std::uint32_t transient_not_committed = 57;
constexpr std::uint32_t transient_not_accepted = 58;
constexpr std::uint32_t already_applied = 59;
constexpr std::uint32_t stale_incarnation = 87;
constexpr std::uint32_t partition_not_found = 3007;

std::size_t size_on_wire(const PublishRecord& record) {
  return iggy::kMessageHeaderSize + record.payload.size() + record.headers.size();
}

}  // namespace

class Publish::Impl {
 public:
  Impl(PublishArgs args, Partitions& partitions, Random& random)
      : args_(std::move(args)),
        partitions_(partitions),
        random_(random),
        source_(args_.stream, args_.topic),
        key_(Partitions::key(args_.stream, args_.topic)) {
    check_sizes();
  }
  ~Impl() { leave_gate(); }

  std::optional<Request> poll_request(Now now);
  void on_reply(std::uint32_t tag, const Reply& reply, Now now);
  std::optional<std::uint64_t> poll_deadline() const {
    return step_ == Step::pause ? std::optional(resume_at_) : std::nullopt;
  }
  void cancel();

  bool done() const { return step_ == Step::done; }
  std::optional<Failure> failure_;
  std::vector<Confirmation> confirmations_;

 private:
  enum class Step : std::uint8_t { learn, choose, send, read_back, pause, done };

  void check_sizes();
  void identify(Now now);
  bool choose();
  PartitionContext context() const;
  Request send_request();
  void on_topic(const Reply& reply);
  void on_sent(const Reply& reply, Now now);
  void look(const Failure& otherwise, Now now, bool may_repeat = true);
  void on_read_back(const Reply& reply, Now now);
  void stored();
  void retry(Step then, Now now, const Failure& otherwise);
  void end(std::optional<Failure> failure, std::uint32_t unconfirmed = 0);
  void leave_gate() {
    if (in_gate_) partitions_.leave(key_, partition_, this);
    in_gate_ = false;
  }
  std::uint32_t chunk() const { return static_cast<std::uint32_t>(chunk_end_ - chunk_begin_); }

  PublishArgs args_;
  Partitions& partitions_;
  Random& random_;
  TopicSource source_;
  std::string key_;
  Step step_ = Step::learn;
  Step after_pause_ = Step::send;
  std::uint64_t resume_at_ = 0;
  std::uint32_t tag_ = 0;  // counts requests; the latest one is the only one that an answer is taken for
  bool in_flight_ = false;
  bool in_gate_ = false;  // in the queue of the partition, or at its head
  bool relearned_ = false;
  std::uint32_t retries_ = 0;

  std::vector<tape::U128> ids_;
  std::uint64_t timestamp_ = 0;
  std::uint32_t partition_ = 0;
  std::size_t chunk_begin_ = 0;  // records [begin, end) are in the request under way
  std::size_t chunk_end_ = 0;
  bool may_repeat_ = true;     // after a read-back that finds nothing
  std::uint64_t look_at_ = 0;  // next offset of the read-back
  std::uint32_t found_ = 0;
};

void Publish::Impl::check_sizes() {
  Error error;
  if (args_.records.empty()) {
    error.rule = Rule::publish_body;
    error.set_path("records");
  }
  for (std::size_t index = 0; index < args_.records.size() && !error; ++index) {
    if (size_on_wire(args_.records[index]) <= request_limit - request_overhead) continue;
    error.rule = Rule::message_too_large;
    error.set_path("records." + std::to_string(index) + ", more than " +
                   std::to_string(request_limit - request_overhead) + " bytes");
  }
  if (const auto* key = std::get_if<bytes::Buffer>(&args_.partition);
      key && (key->empty() || key->size() > 255)) {
    error.rule = Rule::partitioning;
    error.set_path("partition_key");
  }
  if (args_.stream.empty() || args_.stream.size() > 255 || args_.topic.empty() || args_.topic.size() > 255) {
    error.rule = Rule::name_length;
    error.set_path(args_.stream.empty() || args_.stream.size() > 255 ? "stream" : "topic");
  }
  if (!error) return;
  Failure failure{.kind = FailureKind::invalid, .error = error};
  end(failure);
}

// Ids and time belong to the records, not to an attempt: they stay the same however often a record is sent.
void Publish::Impl::identify(Now now) {
  if (!ids_.empty()) return;
  timestamp_ = now.wall_micros;
  for (std::size_t index = 0; index < args_.records.size(); ++index) ids_.push_back(random_.ulid(now));
}

bool Publish::Impl::choose() {
  const auto* topic = partitions_.find(key_);
  if (topic == nullptr) return false;
  if (const auto* given = std::get_if<std::uint32_t>(&args_.partition)) {
    partition_ = *given;
  } else if (topic->count == 0) {
    end(Failure{.kind = FailureKind::command, .code = 3008, .error = {}});
  } else if (const auto* key = std::get_if<bytes::Buffer>(&args_.partition)) {
    partition_ = iggy::partition_of_key(*key, topic->count);
  } else {
    partition_ = partitions_.next_round(key_) % topic->count;
  }
  return true;
}

std::optional<Request> Publish::Impl::poll_request(Now now) {
  if (done() || in_flight_) return std::nullopt;
  identify(now);
  if (step_ == Step::pause) {
    if (now.mono_micros < resume_at_) return std::nullopt;
    step_ = after_pause_;
  }
  if (step_ == Step::learn && partitions_.find(key_) != nullptr) step_ = Step::choose;
  if (step_ == Step::choose) {
    step_ = choose() ? Step::send : Step::learn;
    if (failure_) return std::nullopt;
  }
  if (step_ == Step::send) {
    // Waiting for its turn: asked again whenever the owner has moved something.
    in_gate_ = true;
    if (!partitions_.enter(key_, partition_, this)) return std::nullopt;
  }
  in_flight_ = true;
  ++tag_;
  if (step_ == Step::learn) return source_.get_topic(tag_);
  if (step_ == Step::read_back)
    return source_.poll(tag_, partition_, context(), iggy::StrategyKind::offset, look_at_, read_back_count);
  auto request = send_request();
  if (done()) return std::nullopt;
  return request;
}

PartitionContext Publish::Impl::context() const {
  const auto* topic = partitions_.find(key_);
  if (topic == nullptr) return {};
  const auto found = topic->contexts.find(partition_);
  return found == topic->contexts.end() ? PartitionContext{} : found->second;
}

Request Publish::Impl::send_request() {
  Request request{.command = send_command,
                  .repeat = Repeat::never,
                  .timeout_micros = args_.timeout_micros,
                  .tag = tag_,
                  .body = {},
                  .context = context()};
  std::vector<iggy::OutgoingMessage> messages;
  std::size_t size = request_overhead;
  for (chunk_end_ = chunk_begin_; chunk_end_ < args_.records.size(); ++chunk_end_) {
    const auto& record = args_.records[chunk_end_];
    size += size_on_wire(record);
    if (size > request_limit && chunk_end_ > chunk_begin_) break;
    messages.push_back({ids_[chunk_end_], timestamp_, record.payload, record.headers});
  }
  bytes::Writer out(request.body);
  iggy::write_send_prefix(
      iggy::Identifier::named(args_.stream), iggy::Identifier::named(args_.topic),
      {.kind = iggy::PartitioningKind::partition_id, .partition_id = partition_, .key = {}}, chunk(), out);
  if (const auto error = iggy::encode_batch(messages, partitions_.dialect, request.body)) {
    in_flight_ = false;
    end(failure_of(error));
  }
  return request;
}

void Publish::Impl::on_reply(std::uint32_t tag, const Reply& reply, Now now) {
  if (done() || !in_flight_ || tag != tag_) return;
  in_flight_ = false;
  switch (step_) {
    case Step::learn: return on_topic(reply);
    case Step::send: return on_sent(reply, now);
    case Step::read_back: return on_read_back(reply, now);
    default: return;
  }
}

void Publish::Impl::on_topic(const Reply& reply) {
  if (reply.outcome != Outcome::ok) return end(failure_of(reply));
  std::optional<TopicState> topic;
  Error error;
  if (!TopicSource::read_topic(reply, partitions_.dialect, topic, error)) return end(failure_of(error));
  if (!topic) return end(Failure{.kind = FailureKind::command, .code = 2010, .error = {}});
  Partitions::Topic learned{static_cast<std::uint32_t>(topic->partitions.size()), {}, {}};
  // With head 0 the partition may be empty: a read-back starts at its first offset then.
  for (const auto& partition : topic->partitions) {
    learned.ends[partition.id] = partition.current_offset;
    learned.contexts[partition.id] = partition.context;
  }
  partitions_.learn(key_, std::move(learned));
  step_ = Step::choose;
}

void Publish::Impl::on_sent(const Reply& reply, Now now) {
  switch (reply.outcome) {
    case Outcome::ok: {
      bytes::Reader in(reply.payload);
      const auto count = reply.payload.empty() ? 0 : in.u32();
      const auto confirmed = confirmations_.size();
      auto* topic = partitions_.find(key_);
      for (std::uint32_t index = 0; in.ok() && index < count; ++index) {
        Confirmation one;
        one.stream_id = in.u32();
        one.topic_id = in.u32();
        one.partition_id = in.u32();
        one.base_offset = in.u64();
        if (!in.ok()) break;
        confirmations_.push_back(one);
        if (topic != nullptr && one.partition_id == partition_) topic->ends[partition_] = one.base_offset;
      }
      in.expect_end();
      if (!in.ok()) {
        confirmations_.resize(confirmed);
        return look(failure_of(in.error()), now);
      }
      return stored();
    }
    case Outcome::refused:
      if (reply.code == transient_not_committed || reply.code == already_applied) break;  // unknown
      if (reply.code == transient_not_accepted) return retry(Step::send, now, failure_of(reply));
      if ((reply.code == partition_not_found || reply.code == resource_not_found ||
           reply.code == stale_incarnation) &&
          !relearned_) {
        relearned_ = true;
        leave_gate();
        partitions_.forget(key_);
        // Where part of the records is stored already, the rest belongs behind it.
        step_ = Step::learn;
        return;
      }
      return end(failure_of(reply));
    case Outcome::not_sent: return end(failure_of(reply));
    case Outcome::unknown:
    case Outcome::malformed: break;
    case Outcome::cancelled: return end(failure_of(reply), chunk());
  }
  // What timed out on a living connection may still be stored later, so that it is looked for but never sent
  // again.
  look(failure_of(reply), now, !reply.timed_out);
}

// The records may be stored or not: the log is read to find out.
void Publish::Impl::look(const Failure& otherwise, Now now, bool may_repeat) {
  may_repeat_ = may_repeat;
  const auto* topic = partitions_.find(key_);
  const auto known = topic == nullptr ? std::map<std::uint32_t, std::uint64_t>{} : topic->ends;
  const auto end_known = known.find(partition_);
  look_at_ = end_known == known.end() ? 0 : end_known->second;
  found_ = 0;
  retry(Step::read_back, now, otherwise);
}

void Publish::Impl::on_read_back(const Reply& reply, Now now) {
  if (reply.outcome != Outcome::ok) return retry(Step::read_back, now, failure_of(reply));
  iggy::PollReply polled(reply.payload, partitions_.dialect);
  iggy::PolledMessage message;
  bool any = false;
  while (polled.next(message)) {
    any = true;
    look_at_ = after(message.offset);
    for (auto index = chunk_begin_; index < chunk_end_; ++index)
      if (ids_[index] == message.id) ++found_;
  }
  if (polled.error()) return end(failure_of(polled.error()), chunk());
  if (found_ >= chunk()) return stored();
  if (any && look_at_ <= polled.current_offset()) return;  // reads on
  if (found_ > 0 || !may_repeat_) {
    // A batch is stored whole or not at all: a part of it is no answer to rely on.
    Failure failure{.kind = FailureKind::publish, .error = {}};
    return end(failure, chunk());
  }
  step_ = Step::send;
}

void Publish::Impl::stored() {
  chunk_begin_ = chunk_end_;
  retries_ = 0;
  if (chunk_begin_ == args_.records.size()) return end(std::nullopt);
  step_ = Step::send;
}

// Again after a pause, or the end. The outcome of what a read-back could not settle stays unknown.
void Publish::Impl::retry(Step then, Now now, const Failure& otherwise) {
  if (retries_ >= args_.max_retries || otherwise.kind == FailureKind::closed ||
      otherwise.kind == FailureKind::cancelled) {
    if (then != Step::read_back) return end(otherwise);
    auto failure = otherwise;
    failure.kind = FailureKind::publish;
    return end(failure, chunk());
  }
  const auto backoff = args_.retry_backoff_micros << std::min<std::uint32_t>(retries_, 20);
  resume_at_ = now.mono_micros + std::min(backoff, longest_backoff);
  ++retries_;
  after_pause_ = then;
  step_ = Step::pause;
}

void Publish::Impl::end(std::optional<Failure> failure, std::uint32_t unconfirmed) {
  leave_gate();
  step_ = Step::done;
  failure_ = failure;
  if (!failure_) return;
  failure_->committed = static_cast<std::uint32_t>(chunk_begin_);
  failure_->unconfirmed = unconfirmed;
  if ((failure_->committed > 0 || unconfirmed > 0) && failure_->kind != FailureKind::cancelled)
    failure_->kind = FailureKind::publish;
}

void Publish::Impl::cancel() {
  if (done()) return;
  const bool uncertain = step_ == Step::read_back ||
                         (step_ == Step::pause && after_pause_ == Step::read_back) ||
                         (step_ == Step::send && in_flight_);
  end(Failure{.kind = FailureKind::cancelled, .error = {}}, uncertain ? chunk() : 0);
}

Publish::Publish(PublishArgs args, Partitions& partitions, Random& random)
    : impl_(std::make_unique<Impl>(std::move(args), partitions, random)) {}
Publish::~Publish() = default;
void Publish::cancel(Now) { impl_->cancel(); }
bool Publish::done() const { return impl_->done(); }
const std::optional<Failure>& Publish::failure() const { return impl_->failure_; }
const std::vector<Confirmation>& Publish::confirmations() const { return impl_->confirmations_; }
std::optional<Request> Publish::poll_request(Now now) { return impl_->poll_request(now); }
void Publish::on_reply(std::uint32_t tag, const Reply& reply, Now now) { impl_->on_reply(tag, reply, now); }
std::optional<std::uint64_t> Publish::poll_deadline() const { return impl_->poll_deadline(); }
void Publish::expire(Now) {}

}  // namespace tidemark::feed
