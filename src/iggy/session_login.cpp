#include <algorithm>

#include "iggy/checksum.hpp"
#include "iggy/defaults.hpp"
#include "iggy/operation.hpp"
#include "iggy/primitives.hpp"
#include "iggy/reply.hpp"
#include "iggy/result_code.hpp"
#include "iggy/session.hpp"

namespace tidemark::iggy {

namespace {

// Volatile, or the compiler drops a store to memory that is about to be freed.
void wipe(bytes::Buffer& secret) {
  volatile std::uint8_t* at = secret.data();
  for (std::size_t index = 0; index < secret.size(); ++index) at[index] = 0;
  secret.clear();
}

Cause protocol_error(Rule rule) {
  Cause cause;
  cause.kind = Cause::Kind::protocol;
  cause.error.rule = rule;
  return cause;
}

std::uint32_t bit(Dialect dialect) { return is_v12(dialect) ? 2 : 1; }

constexpr std::size_t kSecretSize = 32;

// Evictions that a later connection cannot be bound after.
bool is_end_of_session(std::uint8_t reason) { return reason == 7 || reason == 8; }

bool is_short(std::string_view text) { return !text.empty() && text.size() <= 255; }

}  // namespace

void Session::wipe_secrets() {
  wipe(secret_);
  wipe(login_);
}

// The session goes, and with it every number but the next one: on a server of 0.12.2 the count goes on.
void Session::forget_session() {
  wipe(bind_secret_);
  session_ = watermark_ = newest_partition_answer_ = 0;
  if (!is_v12(dialect_)) next_number_ = 1;
}

void Session::ask_for_credentials(Now now) {
  client_ = random_.nonzero_u128();
  dialect_ = preferred_;
  tried_dialects_ = 0;
  phase_deadline_ = now.mono_micros + options_.credentials_timeout;
  emit(SessionEvent::Type::credentials);
}

void Session::credentials(std::uint32_t generation, Credentials credentials, Now now) {
  observe(now);
  if (!is_current(generation) || state_ != SessionState::authenticating || binding_ || !secret_.empty())
    return;
  const auto& [token, username, password] = credentials;
  if (token.empty() ? !is_short(username) || password.size() > 255 : !is_short(token)) {
    Cause cause;
    cause.kind = Cause::Kind::credentials;
    cause.retryable = false;
    cause.error.rule = Rule::argument;
    cause.error.set_path(token.empty() ? "username" : "token");
    return give_up(cause, SessionState::needs_auth);
  }
  secret_is_token_ = !token.empty();
  secret_.reserve(2 + token.size() + username.size() +
                  password.size());  // no copy may stay behind in a grown buffer
  bytes::Writer out(secret_);
  const auto put = [&](std::string_view text) {
    out.u8(static_cast<std::uint8_t>(text.size()));
    out.text(text);
  };
  if (secret_is_token_) {
    put(token);
  } else {
    put(username);
    put(password);
  }
  phase_deadline_ = 0;
  heard_at_ = now.mono_micros;
  send_login();
}

void Session::credentials_failed(std::uint32_t generation, Now now) {
  observe(now);
  if (!is_current(generation) || state_ != SessionState::authenticating || binding_ || !secret_.empty())
    return;
  Cause cause;
  cause.kind = Cause::Kind::credentials;
  disconnect(cause, Redial::remote, true, now);
}

// Header, version and names: what a login and a binding begin with. `room` is for the rest: no copy of a
// secret may stay behind in a grown buffer.
void Session::begin_login_frame(std::size_t room) {
  wipe(login_);
  login_.reserve(kHeaderSize + 4 + 1 + options_.sdk_name.size() + 1 + options_.sdk_version.size() + room);
  bytes::Writer out(login_);
  out.zeros(kHeaderSize);
  out.u32(version_of(dialect_));
  write_name(options_.sdk_name, out);
  write_name(options_.sdk_version, out);
}

void Session::queue_login(RequestHeader header) {
  header.client = client_;
  write_request_header(header, login_);
  login_queued_ = login_sent_ = true;
  login_again_at_ = login_transient_since_ = 0;
}

void Session::send_login() {
  tried_dialects_ |= bit(dialect_);
  begin_login_frame(kSecretSize + secret_.size() + 4);
  bytes::Writer out(login_);
  if (is_v12(dialect_)) {
    wipe(bind_secret_);
    bind_secret_.reserve(kSecretSize);
    bytes::Writer secret(bind_secret_);
    for (std::size_t word = 0; word < kSecretSize / 8; ++word) secret.u64(random_.next());
    out.bytes(bind_secret_);
  }
  out.bytes(secret_);
  out.u32(0);  // no context

  RequestHeader header;
  header.operation = kRegister;
  header.request_checksum = is_v12(dialect_) ? random_.nonzero_u128()
                                             : tape::U128{xxh3_64(std::span(login_).subspan(kHeaderSize)), 0};
  queue_login(header);
}

void Session::send_bind() {
  binding_ = true;
  tried_dialects_ = bit(dialect_);
  begin_login_frame(16 + 8 + 8 + kSecretSize);
  bytes::Writer out(login_);
  for (const auto word : {client_.low, client_.high, session_, watermark_}) out.u64(word);
  out.bytes(bind_secret_);
  RequestHeader header;
  header.operation = kNonReplicated;
  header.command_code = code::kBindSession;
  queue_login(header);
}

// The session is gone, the connection is not: a new login on it. What was sent and not answered has no other
// way to be settled.
void Session::renew(Now now) {
  wipe_secrets();
  binding_ = login_queued_ = login_sent_ = false;
  forget_session();
  give_back_in_flight();
  ask_for_credentials(now);
}

void Session::on_login_reply(const ReplyHeader& header, std::span<const std::uint8_t> body, Now now) {
  if (!login_sent_ || header.request != 0 || header.operation != (binding_ ? kNonReplicated : kRegister))
    return disconnect(protocol_error(Rule::unexpected_reply), Redial::remote, true, now);
  const auto answer = read_answer(header, body);
  if (answer.error) return disconnect(protocol_error(answer.error.rule), Redial::remote, true, now);
  if (!answer.ok) return on_login_code(answer.code, now);

  bytes::Reader reader(answer.payload);
  const auto user = reader.u32();
  const auto session = reader.u64();
  reader.skip(4);  // the server's protocol version: the dialect is already settled
  read_name(reader);
  reader.expect_end();
  if (!reader.ok() || session == 0 || (binding_ && session != session_)) {
    auto cause = protocol_error(reader.ok() ? Rule::integer_range : reader.error().rule);
    cause.error.position = reader.error().position;
    return disconnect(cause, Redial::remote, true, now);
  }
  user_id_ = user;
  session_ = session;
  if (!binding_) watermark_ = header.commit;
  if (!is_v12(dialect_)) wipe(bind_secret_);
  wipe_secrets();
  binding_ = login_queued_ = login_sent_ = false;
  preferred_ = dialect_;
  fired_by_call_ = false;
  ready_at_ = now.mono_micros;
  ping_at_ = now.mono_micros + ping_interval();
  enter(SessionState::ready);
}

void Session::on_login_code(std::uint32_t code, Now now) {
  // A binding that may or may not have happened is one to a session that is gone.
  if (code == 58 || (code == 57 && !binding_)) {
    if (login_transient_since_ == 0) {
      login_transient_since_ = now.mono_micros;
      login_pause_ = defaults::kTransientFirst;
    }
    if (now.mono_micros - login_transient_since_ < defaults::kTransientBudget) {
      login_again_at_ = now.mono_micros + jitter(login_pause_);
      login_pause_ = std::min(login_pause_ * 2, defaults::kTransientLongest);
      return;
    }
  }
  if (binding_) return renew(now);
  Cause cause;
  cause.kind = Cause::Kind::refused;
  cause.code = code;
  if (code_info(code).action != CodeAction::ask_credentials)
    return disconnect(cause, Redial::remote, true, now);
  cause.retryable = false;
  give_up(cause, SessionState::needs_auth);
}

void Session::on_eviction(const EvictionHeader& header, Now now) {
  const bool logging_in = state_ == SessionState::authenticating;
  Cause cause;
  cause.kind = Cause::Kind::eviction;
  cause.code = header.reason;
  if (header.reason == 0) {
    cause.kind = Cause::Kind::protocol;
    cause.error.rule = Rule::unknown_variant;
    cause.error.position = 255;
  }
  auto action = eviction_info(header.reason).action;
  if (action == EvictionAction::other_version) {
    const auto lowest = header.server_version_min;
    const auto highest = header.server_version;
    if (lowest < 1 || lowest > highest) {
      cause.kind = Cause::Kind::protocol;
      cause.error.rule = Rule::eviction_window;
      cause.error.position = 144;
    } else {
      cause.version_min = lowest;
      cause.version_max = highest;
      if (logging_in && negotiate(lowest, highest, now)) return;
    }
    action = logging_in ? EvictionAction::stop : EvictionAction::log_in;
  }
  if (binding_ && action == EvictionAction::log_in) return renew(now);
  cause.retryable = action == EvictionAction::log_in || action == EvictionAction::new_client;
  if (binding_ || action == EvictionAction::new_client || is_end_of_session(header.reason)) forget_session();
  switch (action) {
    case EvictionAction::ask_credentials: return give_up(cause, SessionState::needs_auth);
    case EvictionAction::stop:
    case EvictionAction::other_version: return give_up(cause, SessionState::idle);
    case EvictionAction::log_in:
    case EvictionAction::new_client: return disconnect(cause, Redial::local, true, now);
  }
}

std::optional<Dialect> Session::untried_dialect(std::uint32_t lowest, std::uint32_t highest) const {
  for (const auto dialect : options_.dialects) {
    const auto version = version_of(dialect);
    if ((tried_dialects_ & bit(dialect)) == 0 && version >= lowest && version <= highest) return dialect;
  }
  return std::nullopt;
}

// The connection stays usable after a refused version: the next one is tried on it, with the same
// credentials.
bool Session::negotiate(std::uint32_t lowest, std::uint32_t highest, Now now) {
  if (secret_.empty() && !binding_) return false;
  const auto dialect = untried_dialect(lowest, highest);
  if (!dialect) return false;
  if (binding_) {
    preferred_ = *dialect;
    renew(now);
  } else {
    dialect_ = *dialect;
    send_login();
  }
  return true;
}

}  // namespace tidemark::iggy
