#pragma once

#include <cstdint>

// Bits of `versions.features` in an announce.
namespace tidemark::agdx {

namespace feature {
inline constexpr std::uint64_t kv_cas = 1 << 0;
inline constexpr std::uint64_t read_your_writes = 1 << 1;
inline constexpr std::uint64_t strong_consistency = 1 << 2;
inline constexpr std::uint64_t kv_cas_fenced = 1 << 3;
inline constexpr std::uint64_t keyword_search = 1 << 5;
inline constexpr std::uint64_t watch = 1 << 6;
inline constexpr std::uint64_t authz = 1 << 7;
inline constexpr std::uint64_t destinations = 1 << 8;
inline constexpr std::uint64_t kv_fenced_leases = 1 << 9;
inline constexpr std::uint64_t consumer_filters = 1 << 10;
inline constexpr std::uint64_t group_policy_reads = 1 << 11;
inline constexpr std::uint64_t sessions = 1 << 12;
inline constexpr std::uint64_t stream_tenancy = 1 << 13;
}  // namespace feature

}  // namespace tidemark::agdx
