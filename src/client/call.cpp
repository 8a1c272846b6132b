#include "client/call.hpp"

#include <utility>

#include "bytes/reader.hpp"
#include "bytes/tape_map.hpp"
#include "iggy/defaults.hpp"
#include "iggy/operation.hpp"

namespace tidemark::client {
namespace {

constexpr std::uint32_t kStreamNameExists = 1012;
constexpr std::uint32_t kTopicNameExists = 2013;

bool is_write(std::uint32_t command) {
  const auto operation = iggy::operation_of(command);
  return iggy::is_metadata_write(operation) || iggy::is_partition_write(operation);
}

}  // namespace

Call::Call(std::uint32_t command, tape::Value args, CallOptions options, iggy::Dialect dialect,
           const iggy::CommandSet& commands)
    : command_(command), options_(options), dialect_(dialect), commands_(commands) {
  if (options_.timeout_micros == 0) options_.timeout_micros = iggy::defaults::kRequest;
  const auto given = args.span();
  args_.assign(given.begin(), given.end());
  prepare();
}

// Everything that depends on how the server speaks.
void Call::prepare() {
  const tape::Value args{args_};
  body_.clear();
  look_up_body_.clear();
  auto error = iggy::encode_request(command_, args, dialect_, body_, commands_);
  if (!error && options_.ensure) error = encode_look_up(args);
  if (!error && has_context()) {
    step_ = Step::route;
    error = encode_route(args);
  }
  if (error) finish(refused(error));
}

bool Call::new_session(iggy::Dialect dialect) {
  const bool same = iggy::is_v12(dialect) == iggy::is_v12(dialect_);
  dialect_ = dialect;
  if (done_ || same) return false;
  if (step_ == Step::route) step_ = Step::call;
  prepare();
  asked_ = false;
  return true;
}

// Sends, polls and offsets are of a partition, of which a server of 0.12.2 wants to hear which life is meant.
bool Call::has_context() const {
  if (!iggy::is_v12(dialect_)) return false;
  switch (command_) {
    case iggy::code::kPoll:
    case iggy::code::kSend:
    case iggy::code::kDeferredPoll:
    case iggy::code::kGetOffset:
    case iggy::code::kStoreOffset:
    case iggy::code::kDeleteOffset: return true;
    default: return false;
  }
}

Error Call::encode_route(tape::Value args) {
  std::uint64_t partition = 0;
  if (!args.get("partition_id").to_u64(partition))
    args.get("partitioning").get("partition_id").to_u64(partition);
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    map.value("stream_id", args.get("stream_id").span());
    map.value("topic_id", args.get("topic_id").span());
    map.u32("partition_id", static_cast<std::uint32_t>(partition));
  }
  return iggy::encode_request(iggy::code::kRoute, tape::Value{tape}, dialect_, look_up_body_, commands_);
}

// An ensured create names its stream, and its topic, by `name`; looking up names them by identifiers.
Error Call::encode_look_up(tape::Value args) {
  Error error;
  if (command_ != iggy::code::kCreateStream && command_ != iggy::code::kCreateTopic) {
    error.rule = Rule::argument;
    error.set_path("ensure");
    return error;
  }
  const bool topic = command_ == iggy::code::kCreateTopic;
  bytes::Buffer tape;
  tape::Writer out(tape);
  {
    tape::MapWriter map(out);
    if (topic) map.value("stream_id", args.get("stream_id").span());
    map.text(topic ? "topic_id" : "stream_id", args.get("name").text());
  }
  return iggy::encode_request(topic ? iggy::code::kGetTopic : iggy::code::kGetStream, tape::Value{tape},
                              dialect_, look_up_body_, commands_);
}

std::optional<Request> Call::poll_request(Now now) {
  if (done_ || asked_) return std::nullopt;
  asked_ = true;
  if (!give_up_at_) give_up_at_ = now.mono_micros + options_.timeout_micros;
  Request request;
  request.timeout_micros = *give_up_at_ > now.mono_micros ? *give_up_at_ - now.mono_micros : 1;
  if (step_ == Step::look_up) {
    request.command = command_ == iggy::code::kCreateTopic ? iggy::code::kGetTopic : iggy::code::kGetStream;
    request.body = look_up_body_;
    return request;
  }
  if (step_ == Step::route) {
    request.command = iggy::code::kRoute;
    request.body = look_up_body_;
    return request;
  }
  request.command = command_;
  request.repeat = is_write(command_) ? Repeat::never : Repeat::freely;
  request.context = context_;
  request.body = options_.ensure || has_context() ? body_ : std::move(body_);
  return request;
}

void Call::on_reply(std::uint32_t, const Reply& reply, Now) {
  if (done_) return;
  if (step_ == Step::look_up) return looked_up(reply);
  if (step_ == Step::route) return routed(reply);
  if (reply.outcome == Outcome::refused && reply.code == 87 && has_context() && !rerouted_) {
    rerouted_ = true;
    step_ = Step::route;
    asked_ = false;
    return;
  }
  if (reply.outcome == Outcome::ok) return take(reply.payload);
  if (ensured_already(reply)) return finish_null();
  if (reply.outcome == Outcome::unknown && is_write(command_)) {
    if (options_.ensure && !reply.timed_out) {
      step_ = Step::look_up;
      asked_ = false;
      return;
    }
    return finish(ambiguous());
  }
  finish(problem_of(reply));
}

bool Call::ensured_already(const Reply& reply) const {
  return options_.ensure && reply.outcome == Outcome::refused &&
         reply.code == (command_ == iggy::code::kCreateTopic ? kTopicNameExists : kStreamNameExists);
}

void Call::looked_up(const Reply& reply) {
  if (reply.outcome != Outcome::ok) return finish(problem_of(reply));
  // An empty answer says that there is none: the create did not take effect.
  if (!reply.payload.empty()) return finish_null();
  step_ = Step::call;
  asked_ = false;
}

void Call::routed(const Reply& reply) {
  if (reply.outcome != Outcome::ok) return finish(problem_of(reply));
  bytes::Reader in(reply.payload);
  context_ = {in.u64(), in.u64()};
  if (!in.ok()) return finish(refused(in.error()));
  step_ = Step::call;
  asked_ = false;
}

void Call::take(std::span<const std::uint8_t> payload) {
  tape::Writer out(value_);
  if (const auto error = iggy::decode_reply(command_, payload, dialect_, out, commands_))
    return finish(refused(error));
  done_ = true;
}

void Call::finish_null() {
  value_.clear();
  tape::Writer(value_).null();
  done_ = true;
}

void Call::finish(Problem problem) {
  value_.clear();
  problem_ = std::move(problem);
  done_ = true;
}

}  // namespace tidemark::client
