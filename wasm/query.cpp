#include "agdx/query_reply.hpp"
#include "core.hpp"
#include "iggy/defaults.hpp"

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

// The words of a page; js/core/query.ts reads them. The descriptor holds their address.
//   ticket, rows, details tape address and length, fields tape address and length, 1 with scores, number of
//   columns, then 12 words a column (scores last, where there are any): kind, slots, nulls, children, address
//   of validity (0: no nulls), address and bytes of values, address of offsets (0: there are none), address
//   of UTF-16 offsets (0: there are none, or they are the offsets), number of offsets, precision, scale.
void put_page(const agdx::QueryReplyDecoder& reply, std::uint32_t ticket, bytes::Buffer& fields,
              std::vector<std::uint32_t>& words) {
  const auto& tree = reply.fields();
  fields.clear();
  tape::Writer out(fields);
  agdx::write_fields(tree, 0, tree.roots, out);

  const auto count = static_cast<std::uint32_t>(tree.nodes.size());
  words.clear();
  words.push_back(ticket);
  words.push_back(reply.rows());
  words.push_back(address(reply.details().data()));
  words.push_back(static_cast<std::uint32_t>(reply.details().size()));
  words.push_back(address(fields.data()));
  words.push_back(static_cast<std::uint32_t>(fields.size()));
  words.push_back(reply.has_scores() ? 1 : 0);
  words.push_back(count);
  for (std::uint32_t node = 0; node < count; ++node)
    put_column(words, reply.columns()[node], tree.nodes[node].children);
  if (reply.has_scores()) put_column(words, reply.scores(), 0);
}

}  // namespace

// Query replies without a client, for pages that an application got by itself.
class PageDecoder {
 public:
  std::uint32_t input(std::uint32_t length) { return input_.room(length, iggy::defaults::kMaxFrame); }
  std::uint32_t descriptor() const { return descriptor_.where(); }

  // 1 with a page, 0 with a reply that is none: a refusal, or one that breaks a rule.
  std::uint32_t decode(std::uint32_t length) {
    using Outcome = agdx::QueryReplyDecoder::Outcome;
    if (reply_.decode(input_.first(length)) != Outcome::page) return 0;
    put_page(reply_, 0, fields_, words_);
    descriptor_.reset().put(words_.data());
    return 1;
  }

 private:
  Input input_;
  Descriptor descriptor_;
  agdx::QueryReplyDecoder reply_;
  bytes::Buffer fields_;
  std::vector<std::uint32_t> words_;
};

std::uint32_t Core::page(const client::Event& event) {
  put_page(*event.page, event.ticket, answer_, page_words_);
  descriptor_.reset().put(page_words_.data());
  return 1;
}

}  // namespace tidemark::wasm

EMSCRIPTEN_BINDINGS(query) {
  using namespace tidemark::wasm;
  constructor<PageDecoder>("PageDecoder.new", "PageDecoder.delete");
  method<&PageDecoder::input>("PageDecoder.input");
  method<&PageDecoder::descriptor>("PageDecoder.descriptor");
  method<&PageDecoder::decode>("PageDecoder.decode");
}
