#pragma once

#include "agdx/message.hpp"

// Several managed requests in one, section 16 of the contract.
namespace tidemark::agdx {

extern const Field batch_request;
extern const Field batch_reply;

}  // namespace tidemark::agdx
