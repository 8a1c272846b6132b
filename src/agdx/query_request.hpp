#pragma once

#include "agdx/message.hpp"

// Query requests, sections 10.1 to 10.7 of the contract. A typed value is { kind, value } on the tape.
namespace tidemark::agdx {

extern const Field query_envelope;  // { v, query }
extern const Union query_target;
extern const Union query_filter;
extern const Custom typed_value;

}  // namespace tidemark::agdx
