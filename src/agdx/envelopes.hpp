#pragma once

#include "agdx/message.hpp"

// The three envelopes of the contract, section 3.2.
namespace tidemark::agdx {

extern const Field managed_request_envelope;
extern const Field managed_read_envelope;
extern const Field managed_reply_envelope;

}  // namespace tidemark::agdx
