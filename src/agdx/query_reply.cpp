#include "agdx/query_reply.hpp"

#include <algorithm>

#include "agdx/query_context.hpp"
#include "agdx/query_control.hpp"
#include "agdx/query_reply_keys.hpp"
#include "agdx/table.hpp"
#include "agdx/typed_value.hpp"
#include "bytes/word.hpp"

namespace tidemark::agdx {
namespace {

constexpr std::uint32_t default_page_limit = 50;
constexpr Field error_type = table::one_of("", query_error);

}  // namespace

using reply::result_keys;
using reply::row_keys;

QueryReplyDecoder::Outcome QueryReplyDecoder::decode(std::span<const std::uint8_t> reply,
                                                     std::span<const std::uint8_t> execution_id) {
  reader_.reset(reply);
  begin_ = reply.data();
  end_ = begin_ + reply.size();
  path_ = {};
  in_.error = {};
  refused_ = false;
  rows_ = 0;
  has_scores_ = false;
  page_ = context_ = {};
  details_.clear();

  const auto major = reader_.peek();
  if (major == cbor::Major::text) {
    const auto name = reader_.text();
    refuse(name == "Ok" || name == "Err" ? Rule::enum_shape : Rule::unknown_variant, 0);
  } else if (major == cbor::Major::array) {
    refuse(Rule::enum_shape, 0);
  } else {
    auto map = reader_.map();
    if (!reader_.next(map)) {
      if (reader_.ok()) refuse(Rule::enum_shape, 0);
    } else {
      const auto at = reader_.position();
      const auto name = reader_.text();
      if (name == "Ok") {
        result();
      } else if (name == "Err") {
        refused_ = true;
        context_.position = reader_.position();
        context_.bytes = reader_.raw();
      } else if (reader_.ok()) {
        refuse(Rule::unknown_variant, at);
      }
      if (reader_.ok() && reader_.next(map)) refuse(Rule::enum_shape, 0);
    }
  }
  reader_.expect_end();
  in_.note();
  if (!in_.ok() || !finish(execution_id)) return Outcome::failed;
  return refused_ ? Outcome::refused : Outcome::page;
}

bool QueryReplyDecoder::refuse(Rule rule, std::size_t position) {
  in_.fail(rule, position);
  return false;
}

void QueryReplyDecoder::result() {
  const auto start = reader_.position();
  Keys keys{result_keys};
  bool rows_wait = false;
  auto map = reader_.map();
  while (reader_.next(map)) {
    const auto key = keys.next(in_);
    switch (key) {
      case 0: fields_part(); break;
      case 1:
        rows_wait = !keys.has(0);
        if (rows_wait)
          reader_.skip();
        else
          rows_part();
        break;
      case 2:
      case 3: {
        auto& part = key == 2 ? page_ : context_;
        part.position = reader_.position();
        part.bytes = reader_.raw();
        break;
      }
      default: reader_.skip();
    }
  }
  in_.note();
  for (const std::size_t key : {0U, 1U, 3U})
    if (in_.ok() && !keys.has(key)) in_.missing(result_keys[key], start);
  if (!in_.ok() || !rows_wait) return;
  const auto end = reader_.mark();
  reader_.back(keys.at[1]);
  rows_part();
  reader_.back(end);
}

void QueryReplyDecoder::fields_part() {
  const auto from = reader_.mark();
  const auto known = last_fields_.size();
  if (known > 0 && known <= reader_.remaining() && std::memcmp(from.at, last_fields_.data(), known) == 0) {
    reader_.back({from.at + known, from.depth});
  } else {
    last_fields_.clear();
    ++schema_number_;
    {
      const Path::Step step(path_, result_keys[0]);
      read_fields(in_, fields_);
      if (!in_.ok()) return in_.note();
      if (fields_.roots == 0) {
        refuse(Rule::fields_empty, position_of(from));
        return;
      }
    }
    const auto error = rules_.check(fields_, FieldUse::result);
    if (error) {
      reader_.fail(error.rule, error.position);
      in_.error = error;
      return;
    }
    last_fields_.assign(from.at, begin_ + reader_.position());
  }
  prepare_rows();
}

void QueryReplyDecoder::prepare_rows() {
  columns_.start(fields_);
  LogicalField score_field;
  score_field.kind = TypeKind::float_;
  scores_.start(score_field);
  top_.clear();
  top_columns_.clear();
  for (std::uint32_t node = 0; node < fields_.nodes.size(); node = fields_.nodes[node].end) {
    top_.push_back(node);
    top_columns_.push_back(&columns_[node]);
  }
  scratch_.clear();
  cbor::Writer writer(scratch_);
  writer.text(row_keys[0]);
  writer.array(top_.size());
  row_word_ = bytes::load<std::uint64_t>(scratch_.data());
  row_rest_size_ = static_cast<std::uint32_t>(scratch_.size() - 8);
  std::memcpy(row_rest_, scratch_.data() + 8, row_rest_size_);
}

bool QueryReplyDecoder::details_part(const Part& part, const Field& type) {
  auto error = agdx::decode(type, part.bytes, details_);
  if (!error) return true;
  error.position += static_cast<std::uint32_t>(part.position);
  in_.error = error;
  return false;
}

bool QueryReplyDecoder::finish(std::span<const std::uint8_t> execution_id) {
  if (refused_) return details_part(context_, error_type);
  tape::Writer tape(details_);
  tape.close(tape.open(tape::Tag::map), 2);
  tape.key(result_keys[2]);
  if (page_.bytes.empty()) {
    tape.close(tape.open(tape::Tag::map), 3);
    tape.key("offset"), tape.u64(0);
    tape.key("limit"), tape.u32(default_page_limit);
    tape.key("has_more"), tape.boolean(false);
  } else if (!details_part(page_, query_page)) {
    return false;
  }
  tape.key(result_keys[3]);
  if (!details_part(context_, query_context)) return false;

  const tape::Value details{details_};
  const auto context = details.get(result_keys[3]);
  const auto id = context.get("execution_id").bytes();
  const auto refuse_part = [&](const Part& part, const Error& error) {
    in_.error = error;
    in_.error.position = static_cast<std::uint32_t>(part.position);
    return false;
  };
  Error error;
  if (!all_zero(id) && number(context.get("row_count")) != rows_) {
    agdx::refuse(error, Rule::row_count, "context.row_count");
    return refuse_part(context_, error);
  }
  error = validate(query_context, context);
  if (error) return refuse_part(context_, error);
  error = validate(query_page, details.get(result_keys[2]));
  if (error) return refuse_part(page_, error);
  if (!execution_id.empty() && !std::ranges::equal(execution_id, id)) {
    agdx::refuse(error, Rule::execution_mismatch, "context.execution_id");
    return refuse_part(context_, error);
  }
  return true;
}

}  // namespace tidemark::agdx
