#pragma once

#include "agdx/message.hpp"

// Who is connected, section 17 of the contract.
namespace tidemark::agdx {

extern const Field client_metadata_query;
extern const Field client_metadata_list;

}  // namespace tidemark::agdx
