#pragma once

#include <cstdint>
#include <string_view>

#include "agdx/message.hpp"

// Managed commands, section 4 of the contract.
namespace tidemark::agdx {

namespace command {
inline constexpr std::uint32_t hello = 1'000'000;
inline constexpr std::uint32_t set_client_metadata = 1'000'002;
inline constexpr std::uint32_t get_clients_metadata = 1'000'003;
inline constexpr std::uint32_t batch = 1'000'020;
inline constexpr std::uint32_t checkpoint_mutation = 1'000'021;
inline constexpr std::uint32_t destination_get = 1'000'022;
inline constexpr std::uint32_t destination_list = 1'000'023;
inline constexpr std::uint32_t query_route_list = 1'000'024;
inline constexpr std::uint32_t control_publish = 1'000'108;
inline constexpr std::uint32_t query = 1'000'200;
inline constexpr std::uint32_t query_page = 1'000'201;
inline constexpr std::uint32_t query_cancel = 1'000'202;
inline constexpr std::uint32_t query_status = 1'000'203;
inline constexpr std::uint32_t get_projection = 1'000'210;
inline constexpr std::uint32_t list_projections = 1'000'211;
inline constexpr std::uint32_t get_schema = 1'000'220;
inline constexpr std::uint32_t list_schemas = 1'000'221;
inline constexpr std::uint32_t register_schema = 1'000'222;
inline constexpr std::uint32_t decode_record = 1'000'223;
inline constexpr std::uint32_t kv_get = 1'000'300;
inline constexpr std::uint32_t kv_set = 1'000'301;
inline constexpr std::uint32_t kv_scan = 1'000'302;
inline constexpr std::uint32_t kv_delete = 1'000'303;
inline constexpr std::uint32_t kv_delete_many = 1'000'304;
inline constexpr std::uint32_t kv_namespaces = 1'000'305;
inline constexpr std::uint32_t kv_cas = 1'000'306;
inline constexpr std::uint32_t kv_exists = 1'000'307;
inline constexpr std::uint32_t kv_expire = 1'000'308;
inline constexpr std::uint32_t kv_patch = 1'000'309;
inline constexpr std::uint32_t kv_lease = 1'000'310;
inline constexpr std::uint32_t kv_release = 1'000'311;
inline constexpr std::uint32_t kv_cas_fenced = 1'000'312;
inline constexpr std::uint32_t kv_copy = 1'000'313;
inline constexpr std::uint32_t kv_move = 1'000'314;
inline constexpr std::uint32_t kv_lease_renew = 1'000'315;
}  // namespace command

enum class Wrap : std::uint8_t { bare, mutation, read };

// What a lost answer allows.
enum class Retry : std::uint8_t {
  read,        // sent again freely
  same_bytes,  // under its identity, section 3.3
  never,       // an unknown outcome is reported at once
};

struct Command {
  std::uint32_t code = 0;
  Wrap wrap = Wrap::bare;
  Retry retry = Retry::read;
  const char* surface = "";        // "query", "kv", "control", ...
  const char* capability = "";     // path in the capability set that has to be true; empty: none
  const char* version = "";        // key in the advertised versions that has to be 1 when not 0; empty: none
  const Field* request = nullptr;  // nothing where the body is written by hand
  const Field* reply = nullptr;    // nothing where the body is read by hand
  const char* outcome = "";        // the variant (or two, with a space) of a good reply; empty: any
};

// Nothing for a code that this client does not send.
const Command* find_command(std::uint32_t code);
const Field* request_message(std::uint32_t code);
const Field* reply_message(std::uint32_t code);

// Why a command cannot be sent to this server; `surface` is null when it can.
struct Unsupported {
  const char* surface = nullptr;
  const char* feature = nullptr;
  std::uint32_t advertised_version = 0;  // not 0: the server speaks another version of the surface
  explicit operator bool() const { return surface != nullptr; }
};
// Sections 3.5 and 14.4. `request` is the request's tape: some fields need a capability of their own.
Unsupported gate(const Command& command, tape::Value request, tape::Value capabilities);

}  // namespace tidemark::agdx
