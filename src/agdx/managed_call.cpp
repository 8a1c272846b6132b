#include "agdx/managed_call.hpp"

#include <algorithm>

#include "agdx/command_error.hpp"
#include "agdx/envelopes.hpp"

namespace tidemark::agdx {

namespace {

constexpr std::uint64_t default_timeout = micros_from_ms(30'000);
constexpr std::uint64_t lease_timeout = micros_from_ms(10'000);
constexpr std::uint64_t mutation_budget = micros_from_ms(30'000);
constexpr std::uint64_t first_pause = micros_from_ms(100);
constexpr std::uint64_t longest_pause = micros_from_ms(2'000);

void append(bytes::Buffer& out, tape::Value value) {
  const auto span = value.span();
  out.insert(out.end(), span.begin(), span.end());
}

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const auto space = words.find(' ');
    if (words.substr(0, space) == word) return true;
    words = space == std::string_view::npos ? std::string_view{} : words.substr(space + 1);
  }
  return false;
}

Failure with_code(FailureKind kind, std::uint16_t code) {
  Failure failure;
  failure.kind = kind;
  failure.code = code;
  failure.code_name = result_code_name(code);
  failure.retryable = is_retryable(code);
  return failure;
}

}  // namespace

ManagedCall::ManagedCall(std::uint32_t code, tape::Value args, ManagedCallOptions options,
                         const Capabilities& capabilities, SeenFrontier& frontier, Random& random)
    : command_(find_command(code)),
      options_(options),
      capabilities_(capabilities),
      frontier_(frontier),
      random_(random) {
  if (!allowed(args)) return;
  if (command_->request != nullptr) {
    if (const auto error = encode_valid(*command_->request, args, body_)) {
      // Whatever is wrong with it, it was refused here.
      auto failure = failure_of(error);
      failure.kind = FailureKind::invalid;
      fail(std::move(failure));
      return;
    }
  }
  const auto execution = args.get("execution_id").bytes();
  execution_id_.assign(execution.begin(), execution.end());
  item_count_ = args.get("ops").count();
  if (code == command::kv_lease) lease_micros_ = number(args.get("lease_ttl_micros"));
}

ManagedCall::ManagedCall(std::uint32_t code, bytes::Buffer payload, CustomReply reply,
                         ManagedCallOptions options, const Capabilities& capabilities, SeenFrontier& frontier,
                         Random& random)
    : command_(find_command(code)),
      options_(options),
      custom_(reply),
      capabilities_(capabilities),
      frontier_(frontier),
      random_(random),
      body_(std::move(payload)) {
  allowed({});
}

bool ManagedCall::allowed(tape::Value args) {
  if (command_ == nullptr) {
    fail(Rule::argument);
    return false;
  }
  if (options_.ungated) return true;
  const auto missing = gate(*command_, args, capabilities_.value());
  if (!missing) return true;
  Failure failure;
  failure.kind = FailureKind::unsupported;
  failure.surface = missing.surface;
  failure.feature = missing.feature;
  if (missing.advertised_version != 0) {
    failure = with_code(FailureKind::surface, static_cast<std::uint16_t>(ResultCode::version_skew));
    failure.surface = missing.surface;
    // The error that the surface itself would answer.
    tape::Writer detail(failure.detail);
    detail.close(detail.open(tape::Tag::map), 1);
    detail.key("Version");
    detail.close(detail.open(tape::Tag::map), 2);
    detail.key("expected");
    detail.u32(missing.advertised_version);
    detail.key("got");
    detail.u32(1);
  }
  fail(std::move(failure));
  return false;
}

void ManagedCall::wrap(Now now) {
  wrapped_ = true;
  if (command_->retry == Retry::same_bytes) give_up_at_ = now.mono_micros + mutation_budget;
  if (command_->wrap == Wrap::bare) return;
  bytes::Buffer tape;
  tape::Writer out(tape);
  const auto mark = out.open(tape::Tag::map);
  out.key("v");
  out.u32(1);
  const Field* envelope = &managed_read_envelope;
  if (command_->wrap == Wrap::mutation) {
    envelope = &managed_request_envelope;
    operation_id_ = random_.ulid(now);
    out.key("operation_id");
    out.u128(operation_id_);
    out.key("payload");
    out.bytes(body_);
    out.close(mark, 3);
  } else {
    out.key("read");
    out.bytes(body_);
    const auto position = frontier_.seen(command_->surface);
    out.close(mark, position ? 3 : 2);
    if (position) {
      out.key("min_position");
      out.close(out.open(tape::Tag::map), 3);
      out.key("topic_generation");
      out.u64(position->topic_generation);
      out.key("partition");
      out.u32(position->partition);
      out.key("offset");
      out.u64(position->offset);
    }
  }
  body_.clear();
  if (const auto error = encode_valid(*envelope, tape::Value{tape}, body_)) fail(failure_of(error));
}

std::optional<Request> ManagedCall::poll_request(Now now) {
  if (step_ != Step::ready) return std::nullopt;
  if (!wrapped_) wrap(now);
  if (!finished_ && maybe_applied_ && now.mono_micros >= give_up_at_) ambiguous();
  if (finished_) return std::nullopt;
  step_ = Step::waiting;
  Request request;
  request.command = command_->code;
  request.repeat = command_->retry == Retry::read ? Repeat::freely : Repeat::never;
  request.timeout_micros = options_.timeout_micros;
  if (request.timeout_micros == 0)
    request.timeout_micros = command_->code == command::kv_lease ? lease_timeout : default_timeout;
  if (command_->retry == Retry::same_bytes)
    request.timeout_micros = std::min(request.timeout_micros, give_up_at_ - now.mono_micros);
  request.body = body_;
  return request;
}

void ManagedCall::on_reply(std::uint32_t, const Reply& reply, Now now) {
  if (step_ != Step::waiting) return;
  if (reply.outcome == Outcome::ok) return take(reply.payload, now);
  const bool mutates = command_->retry != Retry::read;
  if (reply.outcome == Outcome::unknown && mutates) return outcome_unknown(now);
  if (reply.outcome == Outcome::not_sent && maybe_applied_) return ambiguous();
  fail(failure_of(reply));
}

void ManagedCall::take(std::span<const std::uint8_t> payload, Now now) {
  bytes::Buffer envelope;
  if (!decode(managed_reply_envelope, payload, envelope)) {
    const tape::Value reply{envelope};
    frontier_.observe(reply.get("frontier"));
    payload = reply.get("reply").bytes();
  }
  const auto surface = take_surface(payload, now);
  if (!surface || finished_) return;
  bytes::Buffer error;
  if (decode(command_error, payload, error)) return fail(failure_of(surface));
  take_command_error(tape::Value{error}, now);
}

// An error says that the payload is no such reply.
Error ManagedCall::take_surface(std::span<const std::uint8_t> payload, Now now) {
  if (command_->reply == nullptr) {
    if (custom_.decode != nullptr) {
      const auto error = custom_.decode(custom_.context, payload);
      // Of the right form but against a rule: what it is beyond doubt.
      if (error && rule_class(error.rule) != RuleClass::codec) fail(failure_of(error));
      if (error) return error;
    } else {
      bytes::Buffer refusal;
      if (!decode(command_error, payload, refusal)) {
        take_command_error(tape::Value{refusal}, now);
        return {};
      }
    }
    raw_.assign(payload.begin(), payload.end());
    finish();
    return {};
  }
  bytes::Buffer tape;
  auto error = decode(*command_->reply, payload, tape);
  if (error) return error;
  const tape::Value reply{tape};
  error = validate(*command_->reply, reply);
  if (error)
    fail(failure_of(error));
  else if (command_->reply == &command_error)
    take_command_error(reply, now);
  else
    take_result(reply);
  return {};
}

void ManagedCall::take_result(tape::Value reply) {
  if (command_->reply->kind != Kind::one_of) {
    if (command_->code == command::batch && reply.get("results").count() != item_count_)
      return fail(Rule::result_count);
    append(value_, reply);
    return finish();
  }
  const auto variant = reply.first();
  const auto inner = variant.next();
  if (variant.text() == "Err") {
    auto failure = with_code(FailureKind::surface, static_cast<std::uint16_t>(surface_result_code(inner)));
    failure.surface = command_->surface;
    append(failure.detail, inner);
    if (inner.is(tape::Tag::map)) failure.message = std::string(inner.first().next().text());
    return fail(std::move(failure));
  }
  const std::string_view wanted = command_->outcome;
  if (wanted.empty()) {
    const auto answered = inner.get("execution_id").bytes();
    if (!std::equal(answered.begin(), answered.end(), execution_id_.begin(), execution_id_.end()))
      return fail(Rule::execution_mismatch);
    append(value_, inner);
    return finish();
  }
  const auto outcome = inner.is(tape::Tag::map) ? inner.first().text() : inner.text();
  if (!lists(wanted, outcome)) return fail(Rule::unexpected_outcome);
  if (wanted.find(' ') != std::string_view::npos)
    append(value_, inner);
  else if (inner.is(tape::Tag::map))
    append(value_, inner.first().next());
  else
    tape::Writer(value_).null();
  finish();
}

void ManagedCall::take_command_error(tape::Value error, Now now) {
  const auto code = result_code(error);
  if (code == static_cast<std::uint16_t>(ResultCode::ok) && command_->reply == &command_error) {
    tape::Writer(value_).null();
    return finish();
  }
  if (command_->retry != Retry::read && leaves_outcome_unknown(code)) return outcome_unknown(now);
  auto failure = with_code(FailureKind::command, code);
  failure.surface = command_->surface;
  failure.message = std::string(error.get("message").text());
  fail(std::move(failure));
}

void ManagedCall::outcome_unknown(Now now) {
  maybe_applied_ = true;
  if (command_->retry == Retry::never) {
    if (lease_micros_ == 0) return ambiguous();
    // Until the asked lifetime is over nobody may assume that no lease exists.
    step_ = Step::holding;
    wake_at_ = now.mono_micros + (lease_micros_ + 999) / 1000 * 1000;
    return;
  }
  const auto longest = std::min(first_pause << std::min(repeats_, 16U), longest_pause);
  ++repeats_;
  const auto half = longest / 2;
  wake_at_ = now.mono_micros + half + random_.below(half + 1);
  if (wake_at_ >= give_up_at_) return ambiguous();
  step_ = Step::pausing;
}

std::optional<std::uint64_t> ManagedCall::poll_deadline() const {
  if (step_ == Step::pausing || step_ == Step::holding) return wake_at_;
  return std::nullopt;
}

void ManagedCall::expire(Now now) {
  if (now.mono_micros < wake_at_) return;
  if (step_ == Step::holding) return ambiguous();
  if (step_ == Step::pausing) step_ = Step::ready;
}

void ManagedCall::cancel() {
  if (finished_) return;
  if (maybe_applied_) return ambiguous();
  Failure failure;
  failure.kind = FailureKind::cancelled;
  fail(std::move(failure));
}

void ManagedCall::ambiguous() {
  Failure failure;
  failure.kind = FailureKind::ambiguous;
  failure.surface = command_->surface;
  failure.retryable = false;
  if (!(operation_id_ == tape::U128{})) failure.operation_id = operation_id_;
  fail(std::move(failure));
}

void ManagedCall::fail(Rule rule) {
  Error error;
  error.rule = rule;
  fail(failure_of(error));
}

void ManagedCall::fail(Failure failure) {
  failure_ = std::move(failure);
  value_.clear();
  finish();
}

void ManagedCall::finish() {
  step_ = Step::done;
  finished_ = true;
}

}  // namespace tidemark::agdx
