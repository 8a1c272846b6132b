#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "agdx/decoding.hpp"
#include "agdx/type_kind.hpp"
#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "cbor/reader.hpp"
#include "cbor/writer.hpp"

namespace tidemark::agdx {

// One node of a tree of logical fields. Everything that has an id is a node: a field, a list's element, a
// map's key and value (the last three have no name). A node's children follow it, each with its own subtree.
struct LogicalField {
  std::uint32_t id = 0;
  TypeKind kind = TypeKind::null;
  bool required = false;
  bool has_doc = false;
  std::uint8_t precision = 0;
  std::uint8_t scale = 0;
  std::uint32_t length = 0;  // of a fixed
  std::uint32_t children = 0;
  std::uint32_t end = 0;  // index of the first node after this one's subtree
  std::uint32_t parent = 0;
  std::uint32_t name_at = 0;
  std::uint32_t name_size = 0;
  std::uint32_t doc_at = 0;
  std::uint32_t doc_size = 0;
  std::uint32_t position = 0;  // in the input, for errors
};

// A list of logical fields and all that is under them, in one flat run (preorder). Storage is kept by
// clear().
struct FieldTree {
  static constexpr std::uint32_t none = 0xFFFF'FFFF;

  std::vector<LogicalField> nodes;
  bytes::Buffer text;  // names and docs
  std::uint32_t roots = 0;
  // Beyond a limit: nodes stop there, and the rules refuse the tree. It is not to be walked.
  bool too_deep = false;
  bool too_large = false;

  void clear();
  std::string_view name(const LogicalField& field) const;
  std::string_view doc(const LogicalField& field) const;
};

enum class FieldUse : std::uint8_t {
  schema,
  result,  // may have provenance columns at the top level
};

// Reads [LogicalField] or a LogicalType (as the single, nameless root). Only whether it can be read: see
// below.
void read_fields(Decoding& in, FieldTree& out);
void read_type(Decoding& in, FieldTree& out);

// The rules of a field tree: ids, names, docs, size, depth, parameters of types. Keeps its storage.
class FieldRules {
 public:
  Error check(const FieldTree& tree, FieldUse use);

 private:
  void node(const FieldTree& tree, std::uint32_t index, FieldUse use, std::uint32_t depth);
  void children(const FieldTree& tree, std::uint32_t first, std::uint32_t count, FieldUse use,
                std::uint32_t depth);
  void fail(Rule rule, const LogicalField& field, const char* part);
  bool repeated_id(const FieldTree& tree, std::uint32_t index);
  bool repeated_name(const FieldTree& tree, std::uint32_t index);

  Path path_;
  Error error_;
  std::uint64_t size_ = 0;
  std::vector<std::uint32_t> ids_;  // open addressing, node + 1, 0 is free; a power of two of them
  std::vector<std::uint32_t> names_;
};

// `count` sibling fields from node `first` on; a whole tree is (0, tree.roots).
void write_fields(const FieldTree& tree, std::uint32_t first, std::uint32_t count, cbor::Writer& out);
void write_fields(const FieldTree& tree, std::uint32_t first, std::uint32_t count, tape::Writer& out);
void write_type(const FieldTree& tree, std::uint32_t index, cbor::Writer& out);
void write_type(const FieldTree& tree, std::uint32_t index, tape::Writer& out);

struct LogicalSchema {
  std::array<std::uint8_t, 16> id = {};
  std::uint32_t version = 0;
  std::array<std::uint8_t, 32> fingerprint = {};
  bool fingerprint_whole = true;  // it had 32 bytes
  std::uint32_t position = 0;
  FieldTree fields;
};

using Fingerprint = std::array<std::uint8_t, 32>;

void read_schema(Decoding& in, LogicalSchema& out);
Error check_schema(const LogicalSchema& schema);
void write_schema(const LogicalSchema& schema, cbor::Writer& out);
// What is hashed, and the hash (SHA-256).
void fingerprint_input(const LogicalSchema& schema, bytes::Buffer& out);
Fingerprint fingerprint(const LogicalSchema& schema);
Fingerprint sha256(std::span<const std::uint8_t> input);

}  // namespace tidemark::agdx
