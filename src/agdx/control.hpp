#pragma once

#include "agdx/message.hpp"

// Control publish, section 12.1 of the contract.
namespace tidemark::agdx {

extern const Field control_envelope;

}  // namespace tidemark::agdx
