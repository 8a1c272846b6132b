#pragma once

#include "agdx/message.hpp"

// Page, cancel and status of a query, and its errors: sections 10.9 and 10.10 of the contract.
namespace tidemark::agdx {

extern const Union query_error;
extern const Field query_page_envelope;
extern const Field query_cancel_envelope;
extern const Field query_status_envelope;
extern const Field query_execution_status;
// { "Ok": QueryExecutionStatus } or { "Err": QueryError }; of cancel and of status.
extern const Field query_status_reply;

}  // namespace tidemark::agdx
