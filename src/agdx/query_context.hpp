#pragma once

#include "agdx/message.hpp"

// What a query reply says beside its rows, section 10.8 of the contract.
namespace tidemark::agdx {

extern const Field query_page;
extern const Field query_context;
extern const Names consistency_levels;  // weakest first
extern const Names sql_dialects;

}  // namespace tidemark::agdx
