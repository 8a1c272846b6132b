#include "client/client.hpp"

#include <algorithm>
#include <utility>

#include "client/connection_event.hpp"
#include "client/probe_task.hpp"
#include "client/reader_tape.hpp"
#include "client/reader_task.hpp"
#include "iggy/operation.hpp"

namespace tidemark::client {
namespace {

void milliseconds(tape::Value value, std::uint64_t& micros) {
  std::uint64_t given = 0;
  if (value.to_u64(given) && given > 0) micros = micros_from_ms(given);
}

iggy::SessionOptions session_options(tape::Value options) {
  iggy::SessionOptions result;
  constexpr std::string_view names[] = {"s11", "v12", "snapshot"};
  if (const auto dialects = options.get("dialects"); dialects.count() > 0) {
    result.dialects.clear();
    auto item = dialects.first();
    for (std::uint32_t index = 0; index < dialects.count(); ++index, item = item.next()) {
      const auto found = std::find(std::begin(names), std::end(names), item.text());
      if (found != std::end(names))
        result.dialects.push_back(static_cast<iggy::Dialect>(found - std::begin(names)));
    }
    if (result.dialects.empty()) result.dialects.push_back(iggy::Dialect::s11);
  }
  result.loopback = options.get("loopback").boolean();
  result.dedicated = options.get("dedicated").boolean();
  milliseconds(options.get("connect_timeout_ms"), result.connect_timeout);
  milliseconds(options.get("watchdog_ms"), result.watchdog);
  milliseconds(options.get("credentials_timeout_ms"), result.credentials_timeout);
  milliseconds(options.get("request_timeout_ms"), result.request_timeout);
  return result;
}

Problem not_linked() {
  Problem problem;
  problem.kind = "unsupported";
  problem.message = "not in this build of the client";
  return problem;
}

// The session and the operations draw from sequences of their own: what one does must not change the other.
Random::Seed derived(Random::Seed seed) {
  Random random(seed);
  return {random.next(), random.next(), random.next(), random.next()};
}

}  // namespace

Client::Client(const Surfaces& surfaces, tape::Value options, Random::Seed seed)
    : surfaces_(surfaces),
      random_(derived(seed)),
      session_(session_options(options), seed),
      managed_(surfaces.announce),
      router_(session_) {
  milliseconds(options.get("request_timeout_ms"), call_timeout_);
}

Client::~Client() = default;

void Client::connect(Now now) {
  session_.connect(now);
  step(now);
}

void Client::opened(std::uint32_t generation, Now now) {
  session_.opened(generation, now);
  step(now);
}

void Client::credentials(std::uint32_t generation, tape::Value given, Now now) {
  session_.credentials(
      generation, {given.get("token").text(), given.get("username").text(), given.get("password").text()},
      now);
  step(now);
}

void Client::credentials_failed(std::uint32_t generation, Now now) {
  session_.credentials_failed(generation, now);
  step(now);
}

void Client::receive(std::uint32_t generation, std::span<const std::uint8_t> frame, Now now) {
  session_.receive(generation, frame, now);
  step(now);
}

void Client::lost(std::uint32_t generation, iggy::Lost info, Now now) {
  session_.lost(generation, info, now);
  step(now);
}

void Client::pause(std::string_view reason, Now now) {
  session_.pause(reason, now);
  step(now);
}

void Client::resume(std::string_view reason, Now now) {
  session_.resume(reason, now);
  step(now);
}

void Client::wake(iggy::Wake cause, Now now) {
  session_.wake(cause, now);
  step(now);
}

void Client::reconnect(Now now) {
  session_.reconnect(now);
  step(now);
}

void Client::close(Now now) {
  // The operations first: what the session answers them with says less than that the owner closed.
  router_.close(events_);
  session_.close(now);
  step(now);
}

void Client::expire(Now now) {
  session_.expire(now);
  router_.expire(now);
  step(now);
}

std::optional<std::uint64_t> Client::deadline() const {
  const auto session = session_.poll_deadline();
  const auto operations = router_.deadline();
  if (!session || !operations) return session ? session : operations;
  return std::min(*session, *operations);
}

std::optional<iggy::Outgoing> Client::transmit(Now now) { return session_.poll_transmit(now); }

std::uint32_t Client::call(std::uint32_t command, tape::Value args, CallOptions options, Now now) {
  if (options.timeout_micros == 0) options.timeout_micros = call_timeout_;
  const bool managed = iggy::is_managed(command);
  if (managed ? surfaces_.managed == nullptr : surfaces_.call == nullptr) return refuse(not_linked());
  return start(managed ? surfaces_.managed(command, args, options, managed_, random_)
                       : surfaces_.call(command, args, options, session_.dialect()),
               now);
}

std::uint32_t Client::publish(tape::Value args, Now now) {
  if (surfaces_.publish == nullptr) return refuse(not_linked());
  Error error;
  return start(surfaces_.publish(args, partitions_, random_, error), now, error);
}

std::uint32_t Client::offset_for_time(tape::Value args, Now now) {
  if (surfaces_.offset_for_time == nullptr) return refuse(not_linked());
  Error error;
  return start(surfaces_.offset_for_time(args, session_.dialect(), error), now, error);
}

ProbeTask& Client::probing() {
  if (auto* task = router_.find(probe_)) return static_cast<ProbeTask&>(*task);
  probe_ = router_.next_id();
  auto task = std::make_unique<ProbeTask>(managed_.capabilities);
  auto& probe = *task;
  router_.add(probe_, std::move(task));
  return probe;
}

std::uint32_t Client::probe(Now now) {
  const auto ticket = router_.next_id();
  probing().wait(ticket);
  step(now);
  return ticket;
}

std::uint32_t Client::wait_until_ready(std::uint64_t timeout_micros, Now now) {
  return start(std::make_unique<ReadinessTask>(managed_.capabilities, timeout_micros), now);
}

void Client::cancel(std::uint32_t ticket, Now now) {
  if (auto* task = router_.find(probe_)) static_cast<ProbeTask&>(*task).leave(ticket);
  router_.remove(ticket);
  step(now);
}

std::uint32_t Client::open_reader(tape::Value value, Problem& problem) {
  Error error;
  auto options = reader_options(value, error);
  if (!options) {
    problem = refused(error);
    return 0;
  }
  const auto number = router_.next_id();
  auto task = std::make_unique<ReaderTask>(std::move(*options), names_);
  task->new_session(session_.dialect());
  router_.add(number, std::move(task));
  return number;
}

ReaderTask* Client::reader(std::uint32_t number) {
  auto* task = router_.find(number);
  return task == nullptr ? nullptr : task->as_reader();
}

bool Client::read(std::uint32_t number, std::uint64_t wait_micros, Now now) {
  auto* found = reader(number);
  if (found == nullptr || !found->reader().read(wait_micros, now)) return false;
  step(now);
  return true;
}

void Client::cancel_read(std::uint32_t number, Now now) {
  auto* found = reader(number);
  if (found == nullptr) return;
  found->reader().cancel_read(now);
  router_.withdraw(number);
  step(now);
}

bool Client::seek(std::uint32_t number, tape::Value to) {
  auto* found = reader(number);
  if (found == nullptr) return false;
  Error error;
  auto target = place(to.get("from"), error);
  auto source = identity(to.get("identity"), error);
  if (!target || error) return false;
  return found->reader().seek(std::move(*target), std::move(source));
}

void Client::close_reader(std::uint32_t number) {
  if (reader(number) == nullptr) return;
  router_.remove(number);
  events_.forget_reader(number);
}

std::uint32_t Client::refuse(const Problem& problem) {
  const auto ticket = router_.next_id();
  events_.failure(ticket, problem);
  return ticket;
}

std::uint32_t Client::start(std::unique_ptr<Task> task, Now now, const Error& error) {
  if (task == nullptr) return refuse(refused(error));
  const auto ticket = router_.next_id();
  router_.add(ticket, std::move(task));
  step(now);
  return ticket;
}

// One round may answer what the next one asks (a closed session refuses at once), so it goes on until nothing
// moves.
void Client::step(Now now) {
  bool moved = true;
  while (moved) {
    moved = take_session_events(now);
    moved = router_.submit(now) || moved;
    router_.report(events_);  // after submit: a task that finds nothing left to ask ends there
  }
}

bool Client::take_session_events(Now now) {
  using Type = iggy::SessionEvent::Type;
  bool any = false;
  while (const auto event = session_.poll_event()) {
    any = true;
    switch (event->type) {
      case Type::state: on_state(*event, now); break;
      case Type::line_held: events_.raw(line_held_event()); break;
      case Type::dial: events_.dial(event->generation); break;
      case Type::credentials: events_.credentials(event->generation); break;
      case Type::drop: events_.drop(event->generation); break;
      case Type::reply: router_.on_reply(event->ticket, event->tag, event->reply, now); break;
    }
  }
  return any;
}

void Client::on_state(const iggy::SessionEvent& event, Now) {
  events_.raw(connection_event(event));
  if (event.state != iggy::SessionState::ready) return;
  partitions_.new_session(event.dialect);
  router_.new_session(event.dialect);
  // Another session may be another server, or another state of it: what was known is asked anew.
  probing();
}

}  // namespace tidemark::client
