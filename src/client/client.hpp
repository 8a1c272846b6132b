#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "agdx/capabilities.hpp"
#include "agdx/name_table.hpp"
#include "client/events.hpp"
#include "client/managed_task.hpp"
#include "client/router.hpp"
#include "client/streaming_tasks.hpp"
#include "feed/partitions.hpp"
#include "iggy/session.hpp"
#include "machine/random.hpp"

namespace tidemark::client {

class ProbeTask;
class ReaderTask;

// What a build of the client can do beside reading: a small module links only what it needs, and refuses the
// rest.
struct Surfaces {
  const agdx::AnnounceForm& announce;
  decltype(&call_task) call = nullptr;
  decltype(&managed_task) managed = nullptr;
  decltype(&publish_task) publish = nullptr;
  decltype(&offset_for_time_task) offset_for_time = nullptr;
};

// One session, the operations that live on it and what they have learned. The only object that JavaScript
// drives. Every verb may leave frames to transmit and events to take.
class Client {
 public:
  // `options` is the CoreOptions of js/core/contract.ts as a tape; null for the defaults.
  Client(const Surfaces& surfaces, tape::Value options, Random::Seed seed);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void connect(Now now);
  void opened(std::uint32_t generation, Now now);
  // {username, password} or {token}.
  void credentials(std::uint32_t generation, tape::Value credentials, Now now);
  void credentials_failed(std::uint32_t generation, Now now);
  void receive(std::uint32_t generation, std::span<const std::uint8_t> frame, Now now);
  void lost(std::uint32_t generation, iggy::Lost info, Now now);
  void pause(std::string_view reason, Now now);
  void resume(std::string_view reason, Now now);
  void wake(iggy::Wake cause, Now now);
  void reconnect(Now now);
  // Ends everything that waits with a problem of kind `closed`.
  void close(Now now);
  void expire(Now now);
  // Monotonic micros at which expire() wants to be called.
  std::optional<std::uint64_t> deadline() const;

  // The next frame to send. Valid until the next call of any method.
  std::optional<iggy::Outgoing> transmit(Now now);
  std::optional<Event> event() { return events_.next(); }

  // Each returns a ticket that exactly one result or failure event follows, also when the request is refused
  // here.
  std::uint32_t call(std::uint32_t command, tape::Value args, CallOptions options, Now now);
  std::uint32_t probe(Now now);
  std::uint32_t wait_until_ready(std::uint64_t timeout_micros, Now now);
  std::uint32_t publish(tape::Value args, Now now);
  // {stream, topic, micros}
  std::uint32_t offset_for_time(tape::Value args, Now now);
  // Nobody wants the answer any more: no event follows. What was sent is not taken back.
  void cancel(std::uint32_t ticket, Now now);

  // The reader's number; 0 when the options are refused, with the reason in `problem`.
  std::uint32_t open_reader(tape::Value options, Problem& problem);
  // False when there is no such reader, or it reads already.
  bool read(std::uint32_t reader, std::uint64_t wait_micros, Now now);
  void cancel_read(std::uint32_t reader, Now now);
  // {from, identity}. False also when they are refused.
  bool seek(std::uint32_t reader, tape::Value to);
  void close_reader(std::uint32_t reader);
  ReaderTask* reader(std::uint32_t number);

  const agdx::NameTable& names() const { return names_; }

 private:
  void step(Now now);
  bool take_session_events(Now now);
  void on_state(const iggy::SessionEvent& event, Now now);
  std::uint32_t refuse(const Problem& problem);
  // A task, or the reason why there is none.
  std::uint32_t start(std::unique_ptr<Task> task, Now now, const Error& error = {});
  // The probe under way, or a new one.
  ProbeTask& probing();

  Surfaces surfaces_;
  Random random_;
  iggy::Session session_;
  Events events_;
  ManagedState managed_;
  agdx::NameTable names_;
  feed::Partitions partitions_;
  // After everything that tasks refer to, so that they go first.
  Router router_;
  std::uint64_t call_timeout_ = 0;  // of calls that name none; 0: the default of their kind
  std::uint32_t probe_ = 0;         // the task of the probe under way, if it is not over
};

}  // namespace tidemark::client
