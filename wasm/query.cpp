#include "agdx/query_reply.hpp"
#include "core.hpp"

namespace tidemark::wasm {
namespace {

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

// The words of a page; js/core/query.ts reads them. The descriptor holds their address.
//   ticket, rows, details tape address and length, fields tape address and length, 1 with scores, number of columns,
//   then 12 words a column (scores last, where there are any): kind, slots, nulls, children, address of validity
//   (0: no nulls), address and bytes of values, address of offsets (0: there are none), address of UTF-16 offsets
//   (0: there are none, or they are the offsets), number of offsets, precision, scale.
std::uint32_t Core::page(const client::Event& event) {
  const auto& reply = *event.page;
  const auto& tree = reply.fields();
  answer_.clear();
  tape::Writer out(answer_);
  agdx::write_fields(tree, 0, tree.roots, out);

  const auto count = static_cast<std::uint32_t>(tree.nodes.size());
  auto& words = page_words_;
  words.clear();
  words.push_back(event.ticket);
  words.push_back(reply.rows());
  words.push_back(address(reply.details().data()));
  words.push_back(static_cast<std::uint32_t>(reply.details().size()));
  words.push_back(address(answer_.data()));
  words.push_back(static_cast<std::uint32_t>(answer_.size()));
  words.push_back(reply.has_scores() ? 1 : 0);
  words.push_back(count);
  for (std::uint32_t node = 0; node < count; ++node)
    put_column(words, reply.columns()[node], tree.nodes[node].children);
  if (reply.has_scores()) put_column(words, reply.scores(), 0);
  descriptor_.reset().put(words.data());
  return 1;
}

}  // namespace tidemark::wasm
