#pragma once

#include <cstdint>

#include "iggy/limits.hpp"

namespace tidemark::iggy {

// The command codes that this client itself speaks of by name.
namespace code {
inline constexpr std::uint32_t kPing = 1;
inline constexpr std::uint32_t kBindSession = 15;
inline constexpr std::uint32_t kLogout = 39;
inline constexpr std::uint32_t kLogin = 40;
inline constexpr std::uint32_t kLoginWithToken = 45;
inline constexpr std::uint32_t kPoll = 100;
inline constexpr std::uint32_t kSend = 101;
inline constexpr std::uint32_t kRoute = 105;
inline constexpr std::uint32_t kDeferredPoll = 106;
inline constexpr std::uint32_t kCancelDeferred = 108;
inline constexpr std::uint32_t kFetch = 109;
inline constexpr std::uint32_t kGetOffset = 120;
inline constexpr std::uint32_t kStoreOffset = 121;
inline constexpr std::uint32_t kDeleteOffset = 122;
inline constexpr std::uint32_t kGetStream = 200;
inline constexpr std::uint32_t kCreateStream = 202;
inline constexpr std::uint32_t kGetTopic = 300;
inline constexpr std::uint32_t kCreateTopic = 302;
}  // namespace code

inline constexpr std::uint8_t kRegister = 1;
inline constexpr std::uint8_t kNonReplicated = 2;
inline constexpr std::uint8_t kLogoutOperation = 3;

// The operation byte that a command travels under; reads and managed commands share one and carry their code
// beside it.
constexpr std::uint8_t operation_of(std::uint32_t command) {
  switch (command) {
    case 40:
    case 45: return kRegister;
    case 39: return kLogoutOperation;
    case 42: return 146;
    case 43: return 147;
    case 101: return 160;
    case 121: return 161;
    case 122: return 162;
    case 202: return 128;
    case 203: return 130;
    case 204: return 129;
    case 205: return 131;
    case 302: return 132;
    case 303: return 134;
    case 304: return 133;
    case 305: return 135;
    case 402: return 136;
    case 403: return 137;
    case 503: return 138;
    case 602: return 139;
    case 603: return 140;
    case 604: return 148;
    case 605: return 149;
    case 16: return 150;
    case 35: return 142;
    default: return kNonReplicated;
  }
}

constexpr bool is_metadata_write(std::uint8_t operation) { return operation >= 128 && operation <= 150; }
constexpr bool is_partition_write(std::uint8_t operation) { return operation >= 160 && operation <= 162; }
// What a server keeps until there is something to read: it is taken back by a request with the same number.
constexpr bool is_deferred(std::uint32_t command) {
  return command == code::kDeferredPoll || command == code::kFetch;
}
constexpr bool is_managed(std::uint32_t command) { return command >= limits::kFirstManagedCommand; }

// Whether a reply's operation byte is an answer to the one sent. Committed replies carry the operation as
// prepared, which differs for a few.
constexpr bool answers(std::uint8_t reply, std::uint8_t sent) {
  if (reply == sent) return true;
  switch (sent) {
    case 132: return reply == 64;
    case 136: return reply == 65;
    case 138: return reply == 68;
    case 150: return reply >= 72 && reply <= 74;
    default: return false;
  }
}

// Whether a reply's body starts with a result section. A login reply does too, unless its body is empty.
constexpr bool is_result_framed(std::uint8_t operation) {
  return (operation >= 64 && operation <= 68) || (operation >= 70 && operation <= 75) ||
         (operation >= 128 && operation <= 150 && operation != 138) || operation == 161 || operation == 162;
}

}  // namespace tidemark::iggy
