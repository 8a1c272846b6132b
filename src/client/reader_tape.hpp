#pragma once

#include <optional>
#include <string>
#include <variant>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "feed/batch.hpp"
#include "feed/position.hpp"
#include "feed/reader_options.hpp"

// A reader's options, positions and batches as tapes; the shapes are those of js/core/contract.ts.
namespace tidemark::client {

using Place = std::variant<feed::Start, feed::Positions>;

std::optional<feed::ReaderOptions> reader_options(tape::Value value, Error& error);
// "beginning", "now", or pairs of partition and next offset.
std::optional<Place> place(tape::Value value, Error& error);
std::optional<feed::SourceIdentity> identity(tape::Value value, Error& error);

void write(tape::Writer& out, const feed::Positions& positions);
void write(tape::Writer& out, const feed::SourceIdentity& identity);
// What a batch says beside its columns. The identity is left out when it is `known`.
void write_summary(tape::Writer& out, const feed::ReaderBatch& batch,
                   const std::optional<feed::SourceIdentity>& known);

}  // namespace tidemark::client
