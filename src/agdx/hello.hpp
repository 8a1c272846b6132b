#pragma once

#include "agdx/message.hpp"

// The hello reply, section 6.1 of the contract.
namespace tidemark::agdx {

extern const Field backend_announce;
// A reply with versions only; also a valid announce.
extern const Field hello_reply;

}  // namespace tidemark::agdx
