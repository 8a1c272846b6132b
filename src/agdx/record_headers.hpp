#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"

namespace tidemark::agdx {

struct RecordHeader {
  std::string key;
  std::uint8_t kind = 0;  // of the streaming protocol: raw 1, string 2, bool 3, uint8 9, uint32 11
  bytes::Buffer value;
};

// The typed headers that make a projection see a record (section 11 of the contract), sorted by key. Of the
// record's options it reads content_type (name or number), projection_ref, schema_id, schema_fingerprint,
// indexes and headers (lists of [name, text]), inline_payload. Refuses by publish_headers, naming the option.
Error record_headers(tape::Value options, std::vector<RecordHeader>& out);

}  // namespace tidemark::agdx
