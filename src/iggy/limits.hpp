#pragma once

#include <cstddef>
#include <cstdint>

// Limits of the protocol itself, section 15 of the protocol text.
namespace tidemark::iggy::limits {

inline constexpr std::size_t kPayload = 64'000'000;
inline constexpr std::size_t kUserHeaders = 100'000;
inline constexpr std::size_t kOptionsBlock = 100'000;
inline constexpr std::uint32_t kOptionEntries = 1024;
inline constexpr std::uint32_t kFetchTargets = 1000;
inline constexpr std::uint32_t kFirstManagedCommand = 1'000'000;

}  // namespace tidemark::iggy::limits
