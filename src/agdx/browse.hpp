#pragma once

#include "agdx/message.hpp"

// Projections and schemas read back, sections 12.4 and 12.5 of the contract.
namespace tidemark::agdx {

extern const Field get_projection;
extern const Field list_projections;
extern const Field get_schema;
extern const Field list_schemas;
extern const Field register_schema;
extern const Field decode_record;
extern const Field browse_reply;

}  // namespace tidemark::agdx
