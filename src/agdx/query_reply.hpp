#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agdx/decoding.hpp"
#include "agdx/query_columns.hpp"
#include "agdx/schema.hpp"
#include "bytes/error.hpp"
#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "cbor/reader.hpp"

namespace tidemark::agdx {

// Reads query replies into columns in one pass, and refuses a reply as a whole for any broken rule. Keep one
// for many pages: its buffers are reused, and a page whose fields are byte for byte those of the last one
// skips them. Everything that it hands out lives until the next decode().
class QueryReplyDecoder {
 public:
  enum class Outcome : std::uint8_t {
    page,     // columns(), scores(), details()
    refused,  // the server's QueryError, on details()
    failed,   // error()
  };

  QueryReplyDecoder() = default;
  QueryReplyDecoder(const QueryReplyDecoder&) = delete;
  QueryReplyDecoder& operator=(const QueryReplyDecoder&) = delete;

  // `execution_id` is the request's, for the last rule; empty leaves that rule out.
  Outcome decode(std::span<const std::uint8_t> reply, std::span<const std::uint8_t> execution_id = {});

  const Error& error() const { return in_.error; }
  std::uint32_t rows() const { return rows_; }
  const FieldTree& fields() const { return fields_; }
  // Changes when the fields do: what was made from them may be kept until then.
  std::uint32_t schema_number() const { return schema_number_; }
  // One a node of fields(), in their order.
  const QueryColumns& columns() const { return columns_; }
  bool has_scores() const { return has_scores_; }
  // A float column of rows() slots, where there are scores.
  const QueryColumn& scores() const { return scores_; }
  // On a tape: { page, context } of a page, or the error of a refusal.
  const bytes::Buffer& details() const { return details_; }

 private:
  // A part of the reply that is read once the rows are.
  struct Part {
    std::span<const std::uint8_t> bytes;
    std::size_t position = 0;
  };

  void result();
  void fields_part();
  void prepare_rows();
  void rows_part();
  void general_row();
  void row_values();
  void score();
  [[gnu::always_inline]] bool fast_row();
  void last_entry();
  bool cell_of_row(std::uint32_t column);
  bool cell(std::uint32_t node, const cbor::Reader::Mark* whole);
  // `whole` is the value that rules about kinds are judged by: the cell itself, or the map it is a key of.
  bool general_cell(std::uint32_t node, const cbor::Reader::Mark* whole);
  bool payload(std::uint32_t node, TypeKind kind, const cbor::Reader::Mark& whole);
  bool decimal(QueryColumn& column, const cbor::Reader::Mark& whole);
  bool struct_members(std::uint32_t node, const cbor::Reader::Mark& whole);
  bool list_items(std::uint32_t node);
  bool map_entries(std::uint32_t node, const cbor::Reader::Mark& whole);
  std::uint64_t count_items();
  bool refuse(Rule rule, std::size_t position);
  bool refuse_value(const cbor::Reader::Mark& whole, Rule rule);
  bool finish(std::span<const std::uint8_t> execution_id);
  bool details_part(const Part& part, const struct Field& type);
  std::size_t position_of(const cbor::Reader::Mark& mark) const {
    return static_cast<std::size_t>(mark.at - begin_);
  }

  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  cbor::Reader reader_;
  Path path_;
  Decoding in_{reader_, path_};
  bool refused_ = false;

  FieldTree fields_;
  FieldRules rules_;
  bytes::Buffer last_fields_;
  std::uint32_t schema_number_ = 0;
  QueryColumns columns_;
  std::vector<std::uint32_t> top_;  // nodes of the top-level columns
  std::vector<QueryColumn*> top_columns_;
  std::uint64_t row_word_ = 0;  // how the shortest spelling of a row begins, after its map's head
  std::uint8_t row_rest_[2] = {};
  std::uint32_t row_rest_size_ = 0;

  std::uint32_t rows_ = 0;
  bool has_scores_ = false;
  QueryColumn scores_;
  Part page_;
  Part context_;
  bytes::Buffer details_;
  bytes::Buffer scratch_;
};

}  // namespace tidemark::agdx
