#pragma once

#include <cstdint>
#include <string_view>

// Error codes of `status` and result entries, and eviction reasons: section 16 of the protocol text.
namespace tidemark::iggy {

// What a client may do with a refused request.
enum class CodeAction : std::uint8_t {
  stop,              // a permanent answer
  log_in,            // no session on this connection: log in, then repeat
  ask_credentials,   // only other credentials help
  repeat_identical,  // outcome unknown: the same frame in the same session, nothing else
  repeat,            // not admitted: the same frame after a pause
  read_back,         // the number is used up, the reply lost: read the state instead
  new_request,       // refused for good, but the same work under a new number may pass
  new_context,       // V12: look the partition up again, then a new request
  other_node,        // V12: the same frame at the partition's primary
  sync_group,        // the partition belongs to another member
};

struct CodeInfo {
  std::uint32_t code;
  CodeAction action;
  std::string_view name;
};

// Unknown codes are permanent errors named "Unknown".
const CodeInfo& code_info(std::uint32_t code);
constexpr bool retryable(CodeAction action) {
  return action != CodeAction::stop && action != CodeAction::ask_credentials &&
         action != CodeAction::read_back;
}

enum class EvictionAction : std::uint8_t {
  log_in,           // the session is gone, a new login may follow at once
  new_client,       // log in under another client id
  ask_credentials,  // stop dialling until the application asks again
  other_version,    // negotiate, or stop
  stop,             // nothing that this client could do better
};

struct EvictionInfo {
  std::uint8_t reason;
  EvictionAction action;
  std::string_view name;
};

// An unknown reason is treated like 1.
const EvictionInfo& eviction_info(std::uint8_t reason);

}  // namespace tidemark::iggy
