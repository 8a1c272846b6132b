#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/client.hpp"
#include "descriptor.hpp"

namespace tidemark::wasm {

// What this link target can say; each target has a file of its own that defines it.
const client::Surfaces& surfaces();

inline std::uint64_t micros(double ms) { return ms > 0 ? static_cast<std::uint64_t>(ms * 1000.0) : 0; }

// A client behind numbers. Nothing here decides anything: it turns numbers into arguments and answers into
// the descriptor. js/core/glue.ts is the same list in TypeScript.
class Core {
 public:
  std::uint32_t input(std::uint32_t length);
  std::uint32_t descriptor() const { return descriptor_.where(); }
  void start(std::uint32_t length);

  void connect(double mono, double wall);
  void opened(std::uint32_t generation, double mono, double wall);
  void credentials(std::uint32_t generation, std::uint32_t length, double mono, double wall);
  void credentials_failed(std::uint32_t generation, std::uint32_t length, double mono, double wall);
  void receive(std::uint32_t generation, std::uint32_t length, double mono, double wall);
  void lost(std::uint32_t generation, std::uint32_t close_code, std::uint32_t text_message, double mono,
            double wall);
  void pause(std::uint32_t length, double mono, double wall);
  void resume(std::uint32_t length, double mono, double wall);
  void wake(std::uint32_t cause, double mono, double wall);
  void reconnect(double mono, double wall);
  void close(double mono, double wall);
  void expire(double mono, double wall);
  double deadline() const;

  std::uint32_t transmit();
  std::uint32_t event();
  void names(std::uint32_t first);

  std::uint32_t probe(double mono, double wall);
  std::uint32_t wait_until_ready(double timeout_ms, double mono, double wall);
  void cancel(std::uint32_t ticket, double mono, double wall);

  std::uint32_t open_reader(std::uint32_t length, double mono, double wall);
  std::uint32_t read(std::uint32_t reader, double wait_ms, double mono, double wall);
  void cancel_read(std::uint32_t reader, double mono, double wall);
  std::uint32_t seek(std::uint32_t reader, std::uint32_t length);
  void positions(std::uint32_t reader);
  void close_reader(std::uint32_t reader);

  // Of the full target alone.
  std::uint32_t call(std::uint32_t command, std::uint32_t length, double timeout_ms, std::uint32_t flags,
                     double mono, double wall);
  std::uint32_t publish(std::uint32_t length, double mono, double wall);
  std::uint32_t offset_for_time(std::uint32_t length, double mono, double wall);

 private:
  Now at(double mono, double wall);
  tape::Value tape(std::uint32_t length) const { return tape::Value{input_.first(length)}; }
  void answer_tape() { descriptor_.reset().put(std::span<const std::uint8_t>(answer_)); }
  std::uint32_t batch(std::uint32_t reader);
  // Of targets without queries: nothing.
  std::uint32_t page(const client::Event& event);

  Input input_;
  Descriptor descriptor_;
  bytes::Buffer answer_;
  std::shared_ptr<const agdx::QueryReplyDecoder> page_;  // that JavaScript copies from
  std::vector<std::uint32_t> page_words_;
  Now now_;
  std::optional<client::Client> client_;
};

}  // namespace tidemark::wasm
