#include "core.hpp"

#include "client/reader_tape.hpp"
#include "client/reader_task.hpp"
#include "iggy/defaults.hpp"
#include "name_tape.hpp"

namespace tidemark::wasm {
namespace {

// Words of js/core/glue.ts.
enum EventKind : std::uint32_t { none = 0, tape_event = 1, changes = 2, records = 3, page_event = 4 };

}  // namespace

Now Core::at(double mono, double wall) {
  now_ = {micros(mono), micros(wall)};
  return now_;
}

std::uint32_t Core::input(std::uint32_t length) { return input_.room(length, iggy::defaults::kMaxFrame); }

void Core::start(std::uint32_t length) {
  const auto options = tape(length);
  Random::Seed seed{};
  auto word = options.get("seed").first();
  for (auto& part : seed) {
    word.to_u64(part);
    word = word.next();
  }
  client_.emplace(surfaces(), options, seed);
}

void Core::connect(double mono, double wall) { client_->connect(at(mono, wall)); }

void Core::opened(std::uint32_t generation, double mono, double wall) {
  client_->opened(generation, at(mono, wall));
}

void Core::credentials(std::uint32_t generation, std::uint32_t length, double mono, double wall) {
  client_->credentials(generation, tape(length), at(mono, wall));
  input_.wipe();
}

void Core::credentials_failed(std::uint32_t generation, std::uint32_t, double mono, double wall) {
  client_->credentials_failed(generation, at(mono, wall));
}

void Core::receive(std::uint32_t generation, std::uint32_t length, double mono, double wall) {
  const auto now = at(mono, wall);
  // There was no room for it: it is longer than any frame may be.
  if (length > iggy::defaults::kMaxFrame) return client_->lost(generation, {0, Rule::frame_too_large}, now);
  client_->receive(generation, input_.first(length), now);
}

void Core::lost(std::uint32_t generation, std::uint32_t close_code, std::uint32_t text_message, double mono,
                double wall) {
  client_->lost(generation, {close_code, text_message != 0 ? Rule::text_message : Rule::none},
                at(mono, wall));
}

void Core::pause(std::uint32_t length, double mono, double wall) {
  client_->pause(tape(length).text(), at(mono, wall));
}

void Core::resume(std::uint32_t length, double mono, double wall) {
  client_->resume(tape(length).text(), at(mono, wall));
}

void Core::wake(std::uint32_t cause, double mono, double wall) {
  if (cause <= static_cast<std::uint32_t>(iggy::Wake::call))
    client_->wake(static_cast<iggy::Wake>(cause), at(mono, wall));
}

void Core::reconnect(double mono, double wall) { client_->reconnect(at(mono, wall)); }
void Core::close(double mono, double wall) { client_->close(at(mono, wall)); }
void Core::expire(double mono, double wall) { client_->expire(at(mono, wall)); }

double Core::deadline() const {
  const auto deadline = client_->deadline();
  return deadline ? static_cast<double>(*deadline) / 1000.0 : -1;
}

std::uint32_t Core::transmit() {
  const auto outgoing = client_->transmit(now_);
  if (!outgoing) return 0;
  descriptor_.reset().put(outgoing->generation);
  descriptor_.put(outgoing->frame);
  return 1;
}

std::uint32_t Core::event() {
  while (auto event = client_->event()) {
    if (event->kind == client::Event::Kind::tape) {
      answer_ = std::move(event->tape);
      answer_tape();
      return tape_event;
    }
    if (event->kind == client::Event::Kind::page) {
      page_ = event->page;
      if (page(*event) != 0) return page_event;
      continue;
    }
    if (const auto kind = batch(event->reader); kind != none) return kind;
  }
  page_.reset();
  // What a large event took is given back.
  if (answer_.capacity() > 64 * 1024) answer_ = bytes::Buffer();
  return none;
}

std::uint32_t Core::batch(std::uint32_t number) {
  auto* reader = client_->reader(number);
  if (reader == nullptr) return none;
  answer_.clear();
  tape::Writer out(answer_);
  reader->write_summary(out);
  const auto& batch = reader->reader().batch();
  auto& words = descriptor_.reset();
  words.put(number);
  words.put(static_cast<std::uint32_t>(batch.count()));
  words.put(std::span<const std::uint8_t>(answer_));
  words.put(client_->names().size());
  if (batch.content == feed::Content::changes) {
    const auto& columns = batch.changes;
    words.put(columns.feed_partition.data());
    words.put(columns.offset.data());
    words.put(columns.timestamp.data());
    words.put(columns.partition.data());
    words.put(columns.from.data());
    words.put(columns.to.data());
    words.put(columns.rows.data());
    words.put(columns.index.data());
    words.put(columns.stream.data());
    return changes;
  }
  const auto& columns = batch.records;
  words.put(columns.partition.data());
  words.put(columns.offset.data());
  words.put(columns.timestamp.data());
  words.put(columns.origin_timestamp.data());
  words.put(columns.id.data());
  words.put(columns.payload_start.data());
  words.put(columns.headers_start.data());
  words.put(columns.bytes.data());
  words.put(columns.bytes_used());
  return records;
}

void Core::names(std::uint32_t first) {
  answer_.clear();
  write_names(client_->names(), first, answer_);
  answer_tape();
}

std::uint32_t Core::probe(double mono, double wall) { return client_->probe(at(mono, wall)); }

std::uint32_t Core::wait_until_ready(double timeout_ms, double mono, double wall) {
  return client_->wait_until_ready(micros(timeout_ms), at(mono, wall));
}

void Core::cancel(std::uint32_t ticket, double mono, double wall) { client_->cancel(ticket, at(mono, wall)); }

std::uint32_t Core::open_reader(std::uint32_t length, double mono, double wall) {
  at(mono, wall);
  client::Problem problem;
  const auto number = client_->open_reader(tape(length), problem);
  if (number == 0) {
    answer_.clear();
    tape::Writer out(answer_);
    client::write(out, problem);
    answer_tape();
  }
  return number;
}

std::uint32_t Core::read(std::uint32_t reader, double wait_ms, double mono, double wall) {
  return client_->read(reader, micros(wait_ms), at(mono, wall)) ? 1 : 0;
}

void Core::cancel_read(std::uint32_t reader, double mono, double wall) {
  client_->cancel_read(reader, at(mono, wall));
}

std::uint32_t Core::seek(std::uint32_t reader, std::uint32_t length) {
  return client_->seek(reader, tape(length)) ? 1 : 0;
}

void Core::positions(std::uint32_t number) {
  answer_.clear();
  tape::Writer out(answer_);
  const auto* reader = client_->reader(number);
  client::write(out, reader == nullptr ? feed::Positions{} : reader->positions());
  answer_tape();
}

void Core::close_reader(std::uint32_t reader) { client_->close_reader(reader); }

}  // namespace tidemark::wasm

EMSCRIPTEN_BINDINGS(core) {
  using namespace tidemark::wasm;
  constructor<Core>("Core.new", "Core.delete");
  method<&Core::input>("Core.input");
  method<&Core::descriptor>("Core.descriptor");
  method<&Core::start>("Core.start");
  method<&Core::connect>("Core.connect");
  method<&Core::opened>("Core.opened");
  method<&Core::credentials>("Core.credentials");
  method<&Core::credentials_failed>("Core.credentialsFailed");
  method<&Core::receive>("Core.receive");
  method<&Core::lost>("Core.lost");
  method<&Core::pause>("Core.pause");
  method<&Core::resume>("Core.resume");
  method<&Core::wake>("Core.wake");
  method<&Core::reconnect>("Core.reconnect");
  method<&Core::close>("Core.close");
  method<&Core::expire>("Core.expire");
  method<&Core::deadline>("Core.deadline");
  method<&Core::transmit>("Core.transmit");
  method<&Core::event>("Core.event");
  method<&Core::names>("Core.names");
  method<&Core::probe>("Core.probe");
  method<&Core::wait_until_ready>("Core.waitUntilReady");
  method<&Core::cancel>("Core.cancel");
  method<&Core::open_reader>("Core.openReader");
  method<&Core::read>("Core.read");
  method<&Core::cancel_read>("Core.cancelRead");
  method<&Core::seek>("Core.seek");
  method<&Core::positions>("Core.positions");
  method<&Core::close_reader>("Core.closeReader");
}
