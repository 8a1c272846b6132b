#include <emscripten/bind.h>

#include "agdx/query_reply.hpp"
#include "core.hpp"

namespace tidemark::wasm {
namespace {

// How many bytes in front of a column's data keep 8-byte columns aligned is JavaScript's affair: it copies.
void put_column(std::vector<std::uint32_t>& words, const agdx::QueryColumn& column, std::uint32_t children) {
  const auto slots = column.length + 1U;
  words.push_back(static_cast<std::uint32_t>(column.kind));
  words.push_back(column.length);
  words.push_back(column.nulls);
  words.push_back(children);
  words.push_back(column.nulls > 0 ? address(column.validity.data()) : 0);
  words.push_back(address(column.values.data()));
  words.push_back(static_cast<std::uint32_t>(column.values_size()));
  words.push_back(column.has_offsets() ? address(column.offsets.data()) : 0);
  words.push_back(column.kind == agdx::TypeKind::string && !column.ascii ? address(column.utf16.data()) : 0);
  words.push_back(column.has_offsets() ? slots : 0);
  words.push_back(column.precision);
  words.push_back(column.scale);
}

}  // namespace

// The words of a page; js/core/query.ts reads them.
//   ticket, rows, schema number, details tape address and length, fields tape address and length, 1 with scores,
//   number of columns, then 12 words a column (scores last, where there are any): kind, length, nulls, children,
//   address of validity (0: no nulls), address and bytes of values, addresses of offsets and of UTF-16 offsets (0:
//   there are none, or they are the same), number of offsets, precision, scale.
std::uint32_t Core::write_page(const client::Event& event) {
  const auto& reply = *event.page;
  answer_.clear();
  const auto& tree = reply.fields();
  tape::Writer out(answer_);
  agdx::write_fields(tree, 0, tree.roots, out);

  const auto count = static_cast<std::uint32_t>(tree.nodes.size());
  page_words_.clear();
  page_words_.push_back(event.reader);
  page_words_.push_back(reply.rows());
  page_words_.push_back(reply.schema_number());
  page_words_.push_back(address(reply.details().data()));
  page_words_.push_back(static_cast<std::uint32_t>(reply.details().size()));
  page_words_.push_back(address(answer_.data()));
  page_words_.push_back(static_cast<std::uint32_t>(answer_.size()));
  page_words_.push_back(reply.has_scores() ? 1 : 0);
  page_words_.push_back(count);
  for (std::uint32_t node = 0; node < count; ++node) {
    const auto kind = tree.nodes[node].kind;
    const auto children = kind == agdx::TypeKind::list  ? 1U
                          : kind == agdx::TypeKind::map ? 2U
                                                        : tree.nodes[node].children;
    put_column(page_words_, reply.columns()[node], children);
  }
  if (reply.has_scores()) put_column(page_words_, reply.scores(), 0);
  descriptor_.reset().put(page_words_.data());
  return page_event;
}

std::uint32_t Core::query(std::uint32_t command, std::uint32_t length, double timeout_ms, std::uint32_t flags,
                          double mono, double wall) {
  tell_page_ = &Core::write_page;
  const client::CallOptions options{timeout_ms > 0 ? static_cast<std::uint64_t>(timeout_ms * 1000.0) : 0,
                                    (flags & ungated) != 0, false};
  return client_->query(command, tape(length), options, at(mono, wall));
}

}  // namespace tidemark::wasm

EMSCRIPTEN_BINDINGS(query) {
  using tidemark::wasm::Core;
  emscripten::function("query", +[](Core& core, std::uint32_t command, std::uint32_t length, double timeout_ms,
                                    std::uint32_t flags, double mono, double wall) {
    return core.query(command, length, timeout_ms, flags, mono, wall);
  });
}
