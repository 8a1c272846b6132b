#pragma once

#include "agdx/message.hpp"

// Shapes that control and browse share, sections 12.2 to 12.4 of the contract.
namespace tidemark::agdx {

extern const Message projection_message;
extern const Message projection_binding_message;
extern const Message source_topic;
extern const Message schema_definition;
extern const Union schema_source;

extern const Field projection;
extern const Field projection_binding;

}  // namespace tidemark::agdx
