#pragma once

#include <cstddef>
#include <cstdint>

// Every number that a user may want to know, in one place. js/ keeps a copy that a test compares.
namespace tidemark::iggy::defaults {

inline constexpr std::uint64_t kMillisecond = 1000;
inline constexpr std::uint64_t kSecond = 1'000'000;

inline constexpr std::uint64_t kWatchdog = 15 * kSecond;  // silence after which a connection is replaced
inline constexpr std::uint64_t kWatchdogManagedGrace = 2 * kSecond;  // beyond the deadline of a managed call
inline constexpr std::uint64_t kPingInterval = 5 * kSecond;
inline constexpr std::uint64_t kProbe = 1 * kSecond;  // for the answer of a connection that woke up unproven
inline constexpr std::uint64_t kClockJump =
    5 * kSecond;  // clocks apart, or a call this late: the machine slept
inline constexpr std::uint64_t kCredentials = 10 * kSecond;
inline constexpr std::uint64_t kConnect = 10 * kSecond;
inline constexpr std::uint64_t kRequest = 30 * kSecond;
inline constexpr std::uint64_t kHeldLine =
    2 * kSecond;  // for the answer to a ping behind a deferred poll: later, the poll holds up the line
inline constexpr std::uint64_t kDeferred = 5 * kSecond;       // what a deferred poll waits for records
inline constexpr std::uint64_t kDeferredSlack = 2 * kSecond;  // beyond it until the server gives it up
inline constexpr std::uint64_t kDeferAgain = 30 * kSecond;    // after a server would not wait
inline constexpr std::uint64_t kHiddenTooLong = 30 * kSecond;

inline constexpr std::uint64_t kTransientFirst =
    50 * kMillisecond;  // pause before the same frame goes out again
inline constexpr std::uint64_t kTransientLongest = 2 * kSecond;
inline constexpr std::uint64_t kTransientBudget = 30 * kSecond;

inline constexpr std::uint64_t kRedialFirst = 10 * kSecond;  // upper bound of a uniform wait
inline constexpr std::uint64_t kRedialLongest = 30 * kSecond;
inline constexpr std::uint64_t kLoopbackRedialFirst = 100 * kMillisecond;
inline constexpr std::uint64_t kLoopbackRedialLongest = 5 * kSecond;
inline constexpr std::uint64_t kStable =
    5 * kSecond;  // a connection that served this long was no failed attempt

inline constexpr std::size_t kMaxFrame = std::size_t{64} * 1024 * 1024;  // header included
inline constexpr std::size_t kMaxInFlight = 256;
inline constexpr std::uint32_t kLoopBreakerResets = 3;  // at one position
inline constexpr std::size_t kBatchByteCap = std::size_t{8} * 1024 * 1024;

}  // namespace tidemark::iggy::defaults
