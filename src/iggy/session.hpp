#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/error.hpp"
#include "iggy/defaults.hpp"
#include "iggy/frame.hpp"
#include "iggy/protocol_version.hpp"
#include "machine/now.hpp"
#include "machine/operation.hpp"
#include "machine/random.hpp"

// Keeps one connection to one server: dials, logs in, pings, notices silence, dials again, and carries
// requests to their answers. It is handed bytes and time, and hands back frames to send, events and the next
// deadline.
//
// On a server of 0.12.2 a session outlives its connection: the next one is bound to it without credentials,
// and writes without an answer go out again as they were. Credentials are asked for when the session is gone.
namespace tidemark::iggy {

enum class SessionState : std::uint8_t {
  idle,  // not asked to connect, or given up for a reason that dialling again cannot mend
  dialing,
  authenticating,  // open: credentials asked for, or login under way
  ready,
  waiting,  // for the next attempt, at `dial_at`
  paused,
  needs_auth,  // only reconnect() goes on
  closed,      // for good
};

struct Cause {
  enum class Kind : std::uint8_t {
    none,
    transport,    // ended or refused by the other side; `code` is the close code, 0 when there is none
    timeout,      // it did not open, did not answer the login, or fell silent
    protocol,     // bytes that break the protocol: see `error`
    eviction,     // `code` is the reason; with 14 `version_min` and `version_max` are the server's window
    refused,      // the login was refused with the error `code`
    credentials,  // the application's callback failed or never answered
    woke,         // the machine slept, and the connection did not prove itself
    local,        // reconnect(), pause() or close()
  };
  Kind kind = Kind::none;
  std::uint32_t code = 0;
  bool retryable = true;
  std::uint32_t version_min = 0;
  std::uint32_t version_max = 0;
  Error error;
};

// Ticket of a submitted request; never 0.
using Ticket = std::uint32_t;

struct SessionEvent {
  enum class Type : std::uint8_t {
    state,        // `state`, `cause`, `attempts`, `dial_at`; `dialect` and `generation` while one is known
    dial,         // open a socket and report everything of it under `generation`
    credentials,  // answer with credentials() or credentials_failed() under `generation`; not where a session
                  // is resumed
    line_held,    // nothing else is answered while a deferred read waits: it was taken back
    drop,         // detach and close the socket of `generation`, without waiting
    reply,        // `ticket`, `tag`, `reply`
  };
  Type type = Type::state;
  std::uint32_t generation = 0;
  SessionState state = SessionState::idle;
  Dialect dialect = Dialect::s11;
  std::uint32_t attempts = 0;  // failed ones in a row
  std::optional<std::uint64_t> dial_at_micros;
  Cause cause;
  Ticket ticket = 0;
  std::uint32_t tag = 0;
  // `reply.payload` points into the frame that was handed to receive(): take the events before that frame
  // goes.
  Reply reply;
};

struct Outgoing {
  std::uint32_t generation = 0;
  std::span<const std::uint8_t> frame;  // until the next call of any method
};

struct Credentials {
  std::string_view token;  // wins when not empty
  std::string_view username;
  std::string_view password;
};

enum class Wake : std::uint8_t { visible, online, focus, pageshow, call };

struct Lost {
  std::uint32_t close_code = 0;  // 0 when the driver has none
  Rule broken = Rule::none;      // how the server broke the protocol; the socket is still open then
};

struct SessionOptions {
  std::vector<Dialect> dialects = {Dialect::s11, Dialect::v12};  // in order of preference
  bool loopback = false;
  bool dedicated =
      false;  // to one deferred read at a time: nothing else minds when the server holds the line
  std::uint64_t connect_timeout = defaults::kConnect;
  std::uint64_t watchdog = defaults::kWatchdog;
  std::uint64_t credentials_timeout = defaults::kCredentials;
  std::uint64_t request_timeout = defaults::kRequest;  // of requests that name none
  std::string sdk_name = "tidemark";
  std::string sdk_version = "0.1.0";
};

class Session {
 public:
  Session(SessionOptions options, Random::Seed seed);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // From idle only; everywhere else it is already so, or other verbs decide.
  void connect(Now now);
  void opened(std::uint32_t generation, Now now);
  // Copied, kept for this login alone, wiped after it.
  void credentials(std::uint32_t generation, Credentials credentials, Now now);
  void credentials_failed(std::uint32_t generation, Now now);
  void receive(std::uint32_t generation, std::span<const std::uint8_t> frame, Now now);
  void lost(std::uint32_t generation, Lost info, Now now);
  // Reasons are a set: the session runs again when the last of them is gone.
  void pause(std::string_view reason, Now now);
  void resume(std::string_view reason, Now now);
  void wake(Wake cause, Now now);
  // From every state but closed, as often as one likes: a fresh connection at once (or when the pause ends).
  void reconnect(Now now);
  void close(Now now);
  void expire(Now now);

  // Exactly one reply event follows, unless cancel() comes first. A request that cannot be sent yet waits for
  // a ready connection until its deadline; closed, needs_auth and a session that gave up answer not_sent at
  // once.
  Ticket submit(Request&& request, Now now);
  // No reply event follows. False when the ticket is not known (any more).
  bool cancel(Ticket ticket);

  std::optional<Outgoing> poll_transmit(Now now);
  std::optional<SessionEvent> poll_event();
  // Monotonic micros at which expire() wants to be called.
  std::optional<std::uint64_t> poll_deadline() const;

  SessionState state() const { return state_; }
  Dialect dialect() const { return dialect_; }
  std::uint32_t generation() const { return generation_; }
  std::uint32_t user_id() const { return user_id_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  enum class Phase : std::uint8_t { queued, in_flight, pausing };

  enum class Redial : std::uint8_t {
    at_once,  // somebody asked for it
    local,    // at once after a connection that had served, else like remote
    remote,   // a growing, jittered wait
  };

  struct Pending {
    Ticket ticket = 0;
    std::uint32_t command = 0;
    std::uint32_t tag = 0;
    PartitionContext context;
    Repeat repeat = Repeat::freely;
    Phase phase = Phase::queued;
    bool maybe_applied = false;    // sent, and nothing has said since that it had no effect
    bool numbered = false;         // the frame is complete: what goes out again must be identical
    bool reauthenticated = false;  // refused for want of a login once already
    std::uint64_t number = 0;
    std::uint64_t deadline = 0;
    std::uint64_t again_at = 0;         // phase pausing
    std::uint64_t transient_since = 0;  // 0: no transient answer so far
    std::uint64_t transient_pause = 0;
    bytes::Buffer frame;  // header and body
  };

  bool live() const { return state_ == SessionState::authenticating || state_ == SessionState::ready; }
  bool has_socket() const { return live() || state_ == SessionState::dialing; }
  bool is_current(std::uint32_t generation) const { return has_socket() && generation == generation_; }

  // connection life: session.cpp
  void observe(Now now);
  void on_wake(Now now);
  void tick(Now now);
  void enter(SessionState state, const Cause& cause = {});
  void dial(Now now, const Cause& cause = {});
  void disconnect(const Cause& cause, Redial redial, bool tell_driver, Now now);
  void give_up(const Cause& cause, SessionState state);
  void reset_connection();
  void release_line();
  bool awaits_deferred() const;
  void prove(Now now);
  std::uint64_t redial_wait();
  std::uint64_t ping_interval() const;
  std::uint64_t watchdog_at() const;
  SessionEvent& emit(SessionEvent::Type type);

  // login: session_login.cpp
  bool resumable() const { return session_ != 0 && !bind_secret_.empty(); }
  void ask_for_credentials(Now now);
  void begin_login_frame(std::size_t room);
  void queue_login(RequestHeader header);
  void send_login();
  void send_bind();
  void renew(Now now);
  void forget_session();
  std::optional<Dialect> untried_dialect(std::uint32_t lowest, std::uint32_t highest) const;
  void on_login_reply(const ReplyHeader& header, std::span<const std::uint8_t> body, Now now);
  void on_login_code(std::uint32_t code, Now now);
  void on_eviction(const EvictionHeader& header, Now now);
  bool negotiate(std::uint32_t lowest, std::uint32_t highest, Now now);
  void wipe_secrets();

  // requests: session_requests.cpp
  void on_reply(const ReplyHeader& header, std::span<const std::uint8_t> body, Now now);
  void on_refusal(std::size_t index, std::uint32_t code, Now now);
  void pause_for_transient(std::size_t index, std::uint32_t code, Now now);
  bool may_send(const Pending& pending) const;
  std::optional<Outgoing> control_frame(std::uint32_t command, std::uint64_t number);
  void complete_frame(Pending& pending);
  void queue_again(Pending& pending);
  void finish(std::size_t index, const Reply& reply);
  void leave_behind(const Pending& pending);
  void give_back_in_flight();
  void expire_requests(Now now);
  std::uint64_t jitter(std::uint64_t longest) { return longest / 2 + random_.below(longest / 2 + 1); }

  SessionOptions options_;
  Random random_;
  SessionState state_ = SessionState::idle;
  bool gave_up_ = false;
  std::vector<std::string> pauses_;
  std::uint32_t generation_ = 0;
  std::uint32_t attempts_ = 0;  // connections lost or refused in a row
  std::uint32_t waits_ = 0;     // waits in a row, for their growth
  bool fired_by_call_ = false;

  Dialect dialect_ = Dialect::s11;
  Dialect preferred_ = Dialect::s11;  // what the server took last time
  std::uint32_t tried_dialects_ = 0;  // bit per dialect, on this connection
  tape::U128 client_;
  std::uint64_t session_ = 0;
  std::uint64_t next_number_ = 1;
  std::uint32_t user_id_ = 0;
  std::uint64_t newest_partition_answer_ = 0;
  bytes::Buffer bind_secret_;    // V12: drawn once for each session, never told
  std::uint64_t watermark_ = 0;  // V12: the highest commit that this session was told of

  bytes::Buffer secret_;  // encoded credentials part of the login body
  bool secret_is_token_ = false;
  bytes::Buffer login_;
  bool binding_ = false;  // `login_` goes on with the session that there is
  bool login_queued_ = false;
  bool login_sent_ = false;
  std::uint64_t login_again_at_ = 0;
  std::uint64_t login_transient_since_ = 0;
  std::uint64_t login_pause_ = 0;

  bytes::Buffer control_;
  std::vector<std::uint64_t> cancels_;  // numbers of deferred reads that nobody waits for any more
  bool ping_queued_ = false;
  bool line_proven_ = false;  // a ping behind a deferred read was answered before it
  std::uint64_t ping_sent_at_ = 0;
  std::uint64_t ping_number_ = 0;  // 0: none on the way
  std::uint64_t ping_at_ = 0;

  std::uint64_t heard_at_ = 0;
  std::uint64_t ready_at_ = 0;
  std::uint64_t phase_deadline_ = 0;  // of dialing, or of the credentials callback; 0: none
  std::uint64_t probe_deadline_ = 0;  // 0: the connection is not in doubt
  std::uint64_t stretched_until_ =
      0;  // the server may still be busy with a managed call that nobody waits for
  std::uint64_t dial_at_ = 0;
  std::optional<Now> last_now_;

  Ticket next_ticket_ = 1;
  std::vector<Pending> pending_;
  std::vector<SessionEvent> events_;
  std::size_t events_taken_ = 0;
};

}  // namespace tidemark::iggy
