#pragma once

#include <cstdint>

#include "client/events.hpp"
#include "iggy/protocol_version.hpp"
#include "machine/operation.hpp"

namespace tidemark::client {

class ReaderTask;

// An operation, and what its progress means to the owner of the client.
class Task {
 public:
  virtual ~Task() = default;
  virtual Operation& operation() = 0;
  // Called after everything that may have moved the operation on: tells what there is to tell. True when the
  // task is over and may be freed.
  virtual bool report(std::uint32_t id, Events& events) = 0;
  // The client closes: whatever still waits ends with a problem of kind `closed`.
  virtual void close(std::uint32_t id, Events& events) = 0;
  // A session is up, and nothing was sent on it yet. True when what was asked before is to be asked anew.
  virtual bool new_session(iggy::Dialect) { return false; }
  virtual ReaderTask* as_reader() { return nullptr; }
};

}  // namespace tidemark::client
