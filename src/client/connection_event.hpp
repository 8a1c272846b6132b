#pragma once

#include "bytes/writer.hpp"
#include "client/problem.hpp"
#include "iggy/session.hpp"

namespace tidemark::client {

// A change of the session's state as the CoreEvent `connection`.
bytes::Buffer connection_event(const iggy::SessionEvent& event);
bytes::Buffer line_held_event();

}  // namespace tidemark::client
