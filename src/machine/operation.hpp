#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bytes/error.hpp"
#include "bytes/writer.hpp"
#include "machine/now.hpp"

namespace tidemark {

// What the connection may do with a request whose answer did not come.
enum class Repeat : std::uint8_t {
  freely,  // reads: sent again by the connection itself after a reconnect, until the request's deadline
  never,   // writes: the operation is told `unknown` and decides (read back, repeat the same bytes, give up)
};

// The life of a partition that a request means, so that it never reaches another one under the same number.
// Only V12 servers ask for it; all zero elsewhere.
struct PartitionContext {
  std::uint64_t incarnation = 0;
  std::uint64_t metadata_op = 0;  // that came with the incarnation: a node behind it does not answer yet
};

struct Request {
  std::uint32_t command = 0;  // command code of the streaming protocol, or >= 1,000,000 for a managed command
  Repeat repeat = Repeat::freely;
  std::uint64_t timeout_micros = 0;  // 0: as long as the connection gives every request
  std::uint32_t tag = 0;             // the operation's own name for the request, given back with its reply
  bytes::Buffer body;
  PartitionContext context = {};  // of sends, polls and offsets
};

enum class Outcome : std::uint8_t {
  ok,         // `payload` is the reply's payload, result section already taken off
  refused,    // the server said no: `code` is its error code, the request had no effect
  unknown,    // sent, and no answer: it may or may not have taken effect
  not_sent,   // it never left this machine (closed, needs-auth, deadline before ready)
  cancelled,  // the owner gave up
  malformed,  // an answer that breaks the protocol: see `error`
};

struct Reply {
  Outcome outcome = Outcome::ok;
  std::uint32_t code = 0;
  bool timed_out = false;  // with unknown and not_sent: the deadline passed, as opposed to a lost connection
  std::span<const std::uint8_t> payload;
  Error error;
};

// Anything that needs one or more requests to finish: a call, a drain of a topic, a publish, a readiness
// wait. The client asks it for requests, hands it replies, and asks again. It never sees sockets, and time
// only as `now`.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::optional<Request> poll_request(Now now) = 0;
  virtual void on_reply(std::uint32_t tag, const Reply& reply, Now now) = 0;
  // Monotonic micros at which expire() wants to be called; nothing when only a reply can move it on.
  virtual std::optional<std::uint64_t> poll_deadline() const { return std::nullopt; }
  virtual void expire(Now) {}
};

}  // namespace tidemark
