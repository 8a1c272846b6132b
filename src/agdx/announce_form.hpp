#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

namespace tidemark::agdx {

enum class Hello : std::uint8_t { unknown, answered, rejected, failed };
std::string_view name_of(Hello hello);

// How much of an announce a build of the client reads and keeps.
struct AnnounceForm {
  // A reply to hello, in its envelope or without, as a tape with the keys of the wire. False when it breaks a
  // rule.
  bool (*read)(std::span<const std::uint8_t> reply, bytes::Buffer& announce);
  // The capability set: the configured one (may be null or partial) plus what an announce adds (one that does
  // not exist adds nothing).
  void (*write)(tape::Value configured, tape::Value announce, Hello hello, bytes::Buffer& out);
};

// Everything, by every rule of the contract.
extern const AnnounceForm whole_announce;
// What a reader of topics and feeds needs: whether there is a managed plane, whether it is ready, which of
// its feeds there are and where. Of the set only { managed, watch, stream_tenancy, hello, topology? }.
extern const AnnounceForm brief_announce;

}  // namespace tidemark::agdx
