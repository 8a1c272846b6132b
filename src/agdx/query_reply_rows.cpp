// The rows of a reply: what runs once a row and once a cell.
#include <cmath>

#include "agdx/query_cell_fast.hpp"
#include "agdx/query_reply.hpp"
#include "agdx/query_reply_keys.hpp"

namespace tidemark::agdx {

using reply::result_keys;
using reply::row_keys;

void QueryReplyDecoder::rows_part() {
  auto items = reader_.array();
  while (reader_.next(items)) {
    if (!fast_row()) general_row();
    if (has_scores_ && scores_.length <= rows_) scores_.push_null();
    ++rows_;
  }
  in_.note();
}

// A row that begins in the shortest way. False takes nothing.
bool QueryReplyDecoder::fast_row() {
  const auto row = reader_.mark();
  const auto* at = row.at;
  if (static_cast<std::size_t>(end_ - at) < cell::margin) return false;
  const bool has_more = at[0] == 0xA2;
  if ((at[0] != 0xA1 && !has_more) || cell::load<std::uint64_t>(at + 1) != row_word_) return false;
  at += 9;
  for (std::uint32_t index = 0; index < row_rest_size_; ++index)
    if (*at++ != row_rest_[index]) return false;
  const auto count = top_.size();
  auto* const* const columns = top_columns_.data();
  const auto* const end = end_;
  for (std::uint32_t index = 0; index < count; ++index) {
    if (static_cast<std::size_t>(end - at) >= cell::margin && cell::fast(*columns[index], at, end)) [[likely]]
      continue;
    // Three containers around a cell: row, values, and the one that the cell's own reading opens.
    reader_.back({at, row.depth + 2});
    if (!cell_of_row(index)) return true;
    at = begin_ + reader_.position();
  }
  reader_.back({at, row.depth});
  if (has_more) last_entry();
  return true;
}

// The second entry of a row's map whose first was `values`.
void QueryReplyDecoder::last_entry() {
  const Path::Step in_rows(path_, result_keys[1]);
  const Path::Step in_row(path_, rows_);
  const auto at = reader_.position();
  const auto key = reader_.text();
  if (key == row_keys[1])
    score();
  else if (key == row_keys[0])
    in_.fail(Rule::duplicate_key, at);
  else
    reader_.skip();
  in_.note();
}

void QueryReplyDecoder::general_row() {
  const Path::Step in_rows(path_, result_keys[1]);
  const Path::Step in_row(path_, rows_);
  const auto start = reader_.position();
  Keys keys{row_keys};
  auto map = reader_.map();
  while (reader_.next(map)) {
    const auto key = keys.next(in_);
    if (key == 0)
      row_values();
    else if (key == 1)
      score();
    else
      reader_.skip();
  }
  in_.note();
  if (in_.ok() && !keys.has(0)) in_.missing(row_keys[0], start);
}

void QueryReplyDecoder::row_values() {
  const auto at = reader_.position();
  const Path::Step step(path_, row_keys[0]);
  auto items = reader_.array();
  std::uint32_t index = 0;
  while (reader_.next(items)) {
    if (index == top_.size()) {
      refuse(Rule::row_width, at);
      return;
    }
    const Path::Step in_column(path_, index);
    if (!cell(top_[index++], nullptr)) return;
  }
  in_.note();
  if (in_.ok() && index != top_.size()) refuse(Rule::row_width, at);
}

void QueryReplyDecoder::score() {
  const Path::Step step(path_, row_keys[1]);
  const auto at = reader_.position();
  if (reader_.take_null()) return;
  const auto value = reader_.f32();
  in_.note();
  if (!in_.ok()) return;
  if (!std::isfinite(value)) {
    refuse(Rule::score_not_finite, at);
    return;
  }
  while (scores_.length < rows_) scores_.push_null();
  scores_.push(value);
  has_scores_ = true;
}

bool QueryReplyDecoder::cell_of_row(std::uint32_t column) {
  const Path::Step in_rows(path_, result_keys[1]);
  const Path::Step in_row(path_, rows_);
  const Path::Step in_values(path_, row_keys[0]);
  const Path::Step in_column(path_, column);
  return general_cell(top_[column], nullptr);
}

bool QueryReplyDecoder::cell(std::uint32_t node, const cbor::Reader::Mark* whole) {
  const auto from = reader_.mark();
  const auto* at = from.at;
  if (reader_.ok() && static_cast<std::size_t>(end_ - at) >= cell::margin &&
      cell::fast(columns_[node], at, end_)) {
    reader_.back({at, from.depth});
    return true;
  }
  return general_cell(node, whole);
}

}  // namespace tidemark::agdx
