#pragma once

#include <cstdint>
#include <span>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "iggy/command/field.hpp"
#include "iggy/protocol_version.hpp"

// Bodies of the streaming protocol's commands, from and to the tape. Operation bytes, result sections and
// frames are not this folder's business: see operation.hpp and reply.hpp.
namespace tidemark::iggy {

struct Command {
  std::uint32_t code;
  bool single;  // a read of one object: an empty reply says that there is none
  Fields request;
  Fields reply;
};

// A set of commands, so that a small module links only those that it needs.
struct CommandSet {
  std::span<const Command> commands;
  const CommandSet* more = nullptr;

  const Command* find(std::uint32_t code) const;
};

const CommandSet& feed_commands();  // streams, topics, partitions, send, poll, offsets, login, roster
const CommandSet& all_commands();   // these and groups, clients, statistics, options, tokens, routing, fetch

// `args`: a map with the snake_case keys of the protocol text's field names, or null for an empty body. A key
// that is missing has its default where the table gives it one. Unknown command: Rule::argument. Unusable
// value: Rule::argument, or the rule of the primitive, with the field's path. Managed codes take `body`
// (bytes) as it is.
Error encode_request(std::uint32_t command, tape::Value args, Dialect dialect, bytes::Buffer& body,
                     const CommandSet& set = all_commands());

// `payload`: what is left after the result section. Writes exactly one value: a map; null for an empty
// payload of a read of one object and for commands that answer nothing; {opaque: bytes} for managed codes. On
// an error the tape holds rubbish: give it a buffer of its own.
Error decode_reply(std::uint32_t command, std::span<const std::uint8_t> payload, Dialect dialect,
                   tape::Writer& out, const CommandSet& set = all_commands());

// The other side of encode_request, for golden files and tests.
Error decode_request(std::uint32_t command, std::span<const std::uint8_t> body, Dialect dialect,
                     tape::Writer& out, const CommandSet& set = all_commands());

}  // namespace tidemark::iggy
