#include "agdx/query_reply.hpp"

#include <cmath>

#include "agdx/query_cell.hpp"
#include "agdx/query_context.hpp"
#include "agdx/query_control.hpp"
#include "agdx/table.hpp"
#include "agdx/typed_value.hpp"

namespace tidemark::agdx {
namespace {

constexpr const char* result_keys[] = {"fields", "rows", "page", "context"};
constexpr const char* row_keys[] = {"values", "score"};
constexpr const char* value_keys[] = {"kind", "value"};
constexpr const char* decimal_keys[] = {"unscaled", "precision", "scale"};
constexpr const char* member_keys[] = {"field_id", "value"};
constexpr const char* entry_keys[] = {"key", "value"};
constexpr std::int64_t day_micros = 86'400'000'000;
constexpr std::uint32_t default_page_limit = 50;
constexpr Field error_type = table::one_of("", query_error);

// UTF-16 units of valid UTF-8.
std::uint32_t utf16_units(std::span<const std::uint8_t> text) {
  std::uint32_t units = 0;
  for (const auto byte : text) units += ((byte & 0xC0) != 0x80 ? 1U : 0U) + (byte >= 0xF0 ? 1U : 0U);
  return units;
}

[[gnu::noinline]] bool push_unicode(QueryColumn& column, std::span<const std::uint8_t> text) {
  if (!cbor::valid_utf8(text)) return false;
  column.push_text(text, utf16_units(text));
  return true;
}

bool minimal(std::span<const std::uint8_t> unscaled) {
  return unscaled.size() == 1 || (unscaled[0] != 0x00 && unscaled[0] != 0xFF) ||
         (unscaled[0] & 0x80) != (unscaled[1] & 0x80);
}

[[gnu::always_inline]] inline bool decimal_fits(std::span<const std::uint8_t> unscaled,
                                                unsigned __int128 limit) {
  if (!minimal(unscaled)) return false;
  auto value = static_cast<unsigned __int128>((unscaled[0] & 0x80) != 0 ? -1 : 0);
  const bool negative = value != 0;
  for (const auto byte : unscaled) value = value << 8 | byte;
  return (negative ? 0 - value : value) < limit;
}

// One cell in its shortest spelling, taken and pushed. False changes nothing.
[[gnu::always_inline]] inline bool fast_cell(QueryColumn& column, const std::uint8_t*& cell_at,
                                             const std::uint8_t* end) {
  const auto* at = cell_at;
  std::int64_t whole = 0;
  double real = 0;
  std::uint32_t length = 0;
  const auto begins = [&]<TypeKind kind>() {
    if (!cell::Prefix<kind>::match(at)) return false;
    at += cell::Prefix<kind>::size;
    return true;
  };
  const auto whole_of = [&]<TypeKind kind>() {
    return begins.template operator()<kind>() && cell::integer(at, whole);
  };
  const auto fits = [&](std::uint32_t size) { return size <= static_cast<std::size_t>(end - at); };
  bool done = false;
  switch (column.kind) {
    case TypeKind::long_:
      done = whole_of.template operator()<TypeKind::long_>();
      if (done) column.push(whole);
      break;
    case TypeKind::string:
      if (!begins.template operator()<TypeKind::string>() || !cell::string_head<0x60>(at, length)) break;
      if (!fits(length) || length > max_value_bytes) break;
      done = (fits(length + 8) && column.push_ascii(at, length)) || push_unicode(column, {at, length});
      at += length;
      break;
    case TypeKind::double_:
      done = begins.template operator()<TypeKind::double_>() && cell::number(at, real);
      if (done) column.push(real);
      break;
    case TypeKind::int_:
      done = whole_of.template operator()<TypeKind::int_>() && whole >= INT32_MIN && whole <= INT32_MAX;
      if (done) column.push(static_cast<std::int32_t>(whole));
      break;
    case TypeKind::date:
      done = whole_of.template operator()<TypeKind::date>() && whole >= INT32_MIN && whole <= INT32_MAX;
      if (done) column.push(static_cast<std::int32_t>(whole));
      break;
    case TypeKind::timestamp_micros:
      done = whole_of.template operator()<TypeKind::timestamp_micros>();
      if (done) column.push(whole);
      break;
    case TypeKind::timestamp_tz_micros:
      done = whole_of.template operator()<TypeKind::timestamp_tz_micros>();
      if (done) column.push(whole);
      break;
    case TypeKind::time_micros:
      done = whole_of.template operator()<TypeKind::time_micros>() && whole >= 0 && whole < day_micros;
      if (done) column.push(whole);
      break;
    case TypeKind::boolean:
      done = begins.template operator()<TypeKind::boolean>() && (*at & 0xFE) == 0xF4;
      if (done) column.push_bit(*at++ == 0xF5);
      break;
    case TypeKind::float_: {
      if (!begins.template operator()<TypeKind::float_>() || !cell::number(at, real)) break;
      const auto narrow = static_cast<float>(real);
      done = std::isfinite(narrow) && (narrow != 0 || !std::signbit(narrow));
      if (done) column.push(narrow);
      break;
    }
    case TypeKind::uuid:
      done = begins.template operator()<TypeKind::uuid>() && *at == 0x50;
      if (!done) break;
      column.push_uuid(at + 1);
      at += 17;
      break;
    case TypeKind::fixed:
      done = begins.template operator()<TypeKind::fixed>() && cell::string_head<0x40>(at, length) &&
             fits(length) && length == column.fixed_length;
      if (!done) break;
      column.push_bytes({at, length});
      at += length;
      break;
    case TypeKind::binary:
      done = begins.template operator()<TypeKind::binary>() && cell::string_head<0x40>(at, length) &&
             fits(length) && length <= max_value_bytes;
      if (!done) break;
      column.push_bytes({at, length});
      at += length;
      break;
    case TypeKind::decimal: {
      constexpr std::uint64_t unscaled_word = 0x64656C61'63736E75;  // "unscaled"
      if (!begins.template operator()<TypeKind::decimal>() || at[0] != 0xA3 || at[1] != 0x68) break;
      if (cell::load<std::uint64_t>(at + 2) != unscaled_word) break;
      at += 10;
      length = static_cast<std::uint32_t>(*at++ - 0x40);
      if (length < 1 || length > 16) break;
      const std::span<const std::uint8_t> unscaled{at, length};
      at += length;
      const auto* tail = column.decimal_tail;
      const auto size = column.decimal_tail_size;
      const auto difference =
          (cell::load<std::uint64_t>(at) ^ cell::load<std::uint64_t>(tail)) |
          (cell::load<std::uint64_t>(at + 8) ^ cell::load<std::uint64_t>(tail + 8)) |
          (cell::load<std::uint64_t>(at + size - 8) ^ cell::load<std::uint64_t>(tail + size - 8));
      if (difference != 0 || !decimal_fits(unscaled, column.decimal_limit)) break;
      column.push_decimal(unscaled);
      at += size;
      done = true;
      break;
    }
    default: break;
  }
  if (done) [[likely]] {
    cell_at = at;
    return true;
  }
  if (!column.required && cell::is_null(cell_at)) {
    column.push_null();
    cell_at += cell::null_size;
    return true;
  }
  return false;
}

int compare_bytes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  const auto size = a.size() < b.size() ? a.size() : b.size();
  const auto order = size > 0 ? std::memcmp(a.data(), b.data(), size) : 0;
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

// The big-endian bytes that a decimal slot was made of, in `out`.
std::span<const std::uint8_t> decimal_bytes(const QueryColumn& column, std::uint32_t slot,
                                            std::uint8_t (&out)[16]) {
  const auto* from = column.values.data() + std::size_t{slot} * 16;
  for (std::size_t index = 0; index < 16; ++index) out[index] = from[15 - index];
  std::size_t skip = 0;
  while (skip < 15 &&
         ((out[skip] == 0x00 && out[skip + 1] < 0x80) || (out[skip] == 0xFF && out[skip + 1] >= 0x80)))
    ++skip;
  return {out + skip, 16 - skip};
}

// Whether the key in slot `a` comes before the one in slot `b`, by canonical key bytes.
bool key_before(const QueryColumn& column, std::uint32_t a, std::uint32_t b) {
  const auto word32 = [&](std::uint32_t slot) {
    return cell::load<std::uint32_t>(column.values.data() + std::size_t{slot} * 4);
  };
  const auto word64 = [&](std::uint32_t slot) {
    return cell::load<std::uint64_t>(column.values.data() + std::size_t{slot} * 8);
  };
  const auto run = [&](std::uint32_t slot) {
    return std::span<const std::uint8_t>{column.values.data() + column.offsets[slot],
                                         column.offsets[slot + 1] - column.offsets[slot]};
  };
  switch (column.kind) {
    case TypeKind::boolean: {
      const auto bit = [&](std::uint32_t slot) { return (column.values[slot / 8] >> slot % 8 & 1) != 0; };
      return !bit(a) && bit(b);
    }
    case TypeKind::int_:
    case TypeKind::date: return word32(a) < word32(b);
    case TypeKind::decimal: {
      std::uint8_t first[16];
      std::uint8_t second[16];
      return compare_bytes(decimal_bytes(column, a, first), decimal_bytes(column, b, second)) < 0;
    }
    case TypeKind::uuid:
      return std::memcmp(column.values.data() + std::size_t{a} * 16,
                         column.values.data() + std::size_t{b} * 16, 16) < 0;
    case TypeKind::string:
    case TypeKind::fixed:
    case TypeKind::binary: return compare_bytes(run(a), run(b)) < 0;
    default: return word64(a) < word64(b);
  }
}

}  // namespace

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
  row_word_ = cell::load<std::uint64_t>(scratch_.data());
  row_rest_size_ = static_cast<std::uint32_t>(scratch_.size() - 8);
  std::memcpy(row_rest_, scratch_.data() + 8, row_rest_size_);
}

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
    if (static_cast<std::size_t>(end - at) >= cell::margin && fast_cell(*columns[index], at, end)) [[likely]]
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
      fast_cell(columns_[node], at, end_)) {
    reader_.back({at, from.depth});
    return true;
  }
  return general_cell(node, whole);
}

bool QueryReplyDecoder::general_cell(std::uint32_t node, const cbor::Reader::Mark* outer) {
  auto& column = columns_[node];
  const auto start = reader_.mark();
  const auto& whole = outer != nullptr ? *outer : start;
  const auto position = position_of(start);
  std::optional<TypeKind> kind;
  bool done = false;
  Keys keys{value_keys};
  auto map = reader_.map();
  while (reader_.next(map)) {
    const auto key = keys.next(in_);
    if (key == 0) {
      const Path::Step step(path_, value_keys[0]);
      const auto at = reader_.position();
      kind = kind_of(reader_.text());
      if (!kind) reader_.fail(Rule::unknown_variant, at);
      in_.note();
    } else if (key == 1 && kind) {
      done = true;
      if (!payload(node, *kind, whole)) return false;
    } else {
      reader_.skip();
    }
  }
  in_.note();
  if (!in_.ok()) return false;
  if (!kind) return in_.missing(value_keys[0], position), false;
  if (!done && keys.has(1)) {
    const auto end = reader_.mark();
    reader_.back(keys.at[1]);
    if (!payload(node, *kind, whole)) return false;
    reader_.back(end);
  } else if (!done && *kind != TypeKind::null) {
    return in_.missing(value_keys[1], position), false;
  }
  if (*kind == TypeKind::null) {
    if (column.required) return refuse_value(whole, Rule::required_null);
    column.push_null();
  }
  return true;
}

bool QueryReplyDecoder::payload(std::uint32_t node, TypeKind kind, const cbor::Reader::Mark& whole) {
  const Path::Step step(path_, value_keys[1]);
  auto& column = columns_[node];
  const auto at = reader_.position();
  if (kind == TypeKind::null) {
    if (!reader_.take_null()) {
      reader_.skip();
      reader_.fail(Rule::wrong_type, at);
    }
    in_.note();
    return in_.ok();
  }
  if (kind != column.kind) return refuse_value(whole, Rule::type_mismatch);
  // A value is pushed only once it is known to be right.
  const auto right = [&] { return in_.note(), in_.ok(); };
  switch (kind) {
    case TypeKind::boolean: {
      const auto value = reader_.boolean();
      if (right()) column.push_bit(value);
      break;
    }
    case TypeKind::int_:
    case TypeKind::date: {
      const auto value = reader_.i32();
      if (right()) column.push(value);
      break;
    }
    case TypeKind::long_:
    case TypeKind::timestamp_micros:
    case TypeKind::timestamp_tz_micros:
    case TypeKind::time_micros: {
      const auto value = reader_.i64();
      if (!right()) break;
      if (kind == TypeKind::time_micros && (value < 0 || value >= day_micros))
        return refuse(Rule::time_out_of_range, at);
      column.push(value);
      break;
    }
    case TypeKind::float_:
    case TypeKind::double_: {
      const auto value = kind == TypeKind::float_ ? static_cast<double>(reader_.f32()) : reader_.f64();
      if (!right()) break;
      if (!std::isfinite(value)) return refuse(Rule::float_not_finite, at);
      if (value == 0 && std::signbit(value)) return refuse(Rule::float_negative_zero, at);
      if (kind == TypeKind::float_)
        column.push(static_cast<float>(value));
      else
        column.push(value);
      break;
    }
    case TypeKind::decimal: return decimal(column, whole);
    case TypeKind::string: {
      const auto value = bytes::as_bytes(reader_.text());
      if (!right()) break;
      if (value.size() > max_value_bytes) return refuse(Rule::value_too_large, at);
      column.push_text(value, utf16_units(value));
      break;
    }
    case TypeKind::uuid:
    case TypeKind::fixed:
    case TypeKind::binary: {
      const auto value = reader_.bytes();
      if (!right()) break;
      if (kind == TypeKind::uuid && value.size() != 16) return refuse(Rule::uuid_length, at);
      if (value.size() > (kind == TypeKind::fixed ? max_fixed_length : max_value_bytes))
        return refuse(Rule::value_too_large, at);
      if (kind == TypeKind::fixed && value.size() != column.fixed_length)
        return refuse_value(whole, Rule::fixed_value_length);
      if (kind == TypeKind::uuid)
        column.push_uuid(value.data());
      else
        column.push_bytes(value);
      break;
    }
    case TypeKind::struct_: return struct_members(node, whole);
    case TypeKind::list: return list_items(node);
    case TypeKind::map: return map_entries(node, whole);
    case TypeKind::null: break;
  }
  return in_.ok();
}

bool QueryReplyDecoder::decimal(QueryColumn& column, const cbor::Reader::Mark& whole) {
  const auto start = reader_.position();
  std::span<const std::uint8_t> unscaled;
  std::uint8_t precision = 0;
  std::uint8_t scale = 0;
  Keys keys{decimal_keys};
  auto map = reader_.map();
  while (reader_.next(map)) {
    const auto key = keys.next(in_);
    if (key == std::size(decimal_keys)) {
      reader_.skip();
      continue;
    }
    const Path::Step step(path_, decimal_keys[key]);
    if (key == 0)
      unscaled = reader_.bytes();
    else
      (key == 1 ? precision : scale) = reader_.u8();
    in_.note();
  }
  in_.note();
  for (std::size_t key = 0; key < 3 && in_.ok(); ++key)
    if (!keys.has(key)) in_.missing(decimal_keys[key], start);
  if (!in_.ok()) return false;
  const auto rule = check_decimal(unscaled, precision, scale);
  if (rule != Rule::none) return refuse(rule, start);
  if (precision != column.precision || scale != column.scale) return refuse_value(whole, Rule::decimal_type);
  column.push_decimal(unscaled);
  return true;
}

// Of the array that comes next.
std::uint64_t QueryReplyDecoder::count_items() {
  const auto from = reader_.mark();
  auto items = reader_.array();
  auto count = items.left;
  if (items.indefinite)
    for (count = 0; reader_.next(items); ++count) reader_.skip();
  reader_.back(from);
  in_.note();
  return count;
}

bool QueryReplyDecoder::struct_members(std::uint32_t node, const cbor::Reader::Mark& whole) {
  const auto at = reader_.position();
  const auto count = count_items();
  if (!in_.ok()) return false;
  if (count > max_entries) return refuse(Rule::collection_too_large, at);
  if (count != fields_.nodes[node].children) return refuse_value(whole, Rule::struct_field_count);
  auto child = node + 1;
  std::uint32_t index = 0;
  auto items = reader_.array();
  while (reader_.next(items)) {
    const Path::Step step(path_, index++);
    const auto start = reader_.position();
    Keys keys{member_keys};
    auto map = reader_.map();
    while (reader_.next(map)) {
      const auto key = keys.next(in_);
      if (key == 0) {
        const auto id = reader_.u32();
        in_.note();
        if (in_.ok() && id != fields_.nodes[child].id) return refuse_value(whole, Rule::struct_field_id);
      } else if (key == 1) {
        const Path::Step part(path_, member_keys[1]);
        if (!cell(child, nullptr)) return false;
      } else {
        reader_.skip();
      }
    }
    in_.note();
    for (std::size_t key = 0; key < 2 && in_.ok(); ++key)
      if (!keys.has(key)) in_.missing(member_keys[key], start);
    if (!in_.ok()) return false;
    child = fields_.nodes[child].end;
  }
  in_.note();
  if (!in_.ok()) return false;
  auto& column = columns_[node];
  column.push_entries(column.offsets[column.length] + 1);
  return true;
}

bool QueryReplyDecoder::list_items(std::uint32_t node) {
  const auto at = reader_.position();
  std::uint32_t index = 0;
  auto items = reader_.array();
  if (items.left > max_entries) return refuse(Rule::collection_too_large, at);
  while (reader_.next(items)) {
    if (index == max_entries) return refuse(Rule::collection_too_large, at);
    const Path::Step step(path_, index++);
    if (!cell(node + 1, nullptr)) return false;
  }
  in_.note();
  if (!in_.ok()) return false;
  columns_[node].push_entries(columns_[node + 1].length);
  return true;
}

bool QueryReplyDecoder::map_entries(std::uint32_t node, const cbor::Reader::Mark& whole) {
  const auto at = reader_.position();
  const auto key_node = node + 1;
  const auto value_node = fields_.nodes[key_node].end;
  auto& key_column = columns_[key_node];
  std::uint32_t index = 0;
  auto items = reader_.array();
  if (items.left > max_entries) return refuse(Rule::collection_too_large, at);
  while (reader_.next(items)) {
    if (index == max_entries) return refuse(Rule::collection_too_large, at);
    const Path::Step step(path_, index);
    const auto start = reader_.position();
    Keys keys{entry_keys};
    auto map = reader_.map();
    while (reader_.next(map)) {
      const auto key = keys.next(in_);
      if (key == std::size(entry_keys)) {
        reader_.skip();
        continue;
      }
      const Path::Step part(path_, entry_keys[key]);
      if (!cell(key == 0 ? key_node : value_node, key == 0 ? &whole : nullptr)) return false;
      if (key == 0 && index > 0 && !key_before(key_column, key_column.length - 2, key_column.length - 1))
        return refuse(Rule::map_key_order, start);
    }
    in_.note();
    for (std::size_t key = 0; key < 2 && in_.ok(); ++key)
      if (!keys.has(key)) in_.missing(entry_keys[key], start);
    if (!in_.ok()) return false;
    ++index;
  }
  in_.note();
  if (!in_.ok()) return false;
  columns_[node].push_entries(key_column.length);
  return true;
}

// A value that does not fit its field: the rules that it must keep on its own come first.
bool QueryReplyDecoder::refuse_value(const cbor::Reader::Mark& whole, Rule rule) {
  in_.note();
  if (!in_.ok()) return false;
  reader_.back(whole);
  scratch_.clear();
  tape::Writer tape(scratch_);
  read_value(in_, tape);
  if (!in_.ok()) return false;
  const auto own = check_value(tape::Value{scratch_});
  return refuse(own ? own.rule : rule, position_of(whole));
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
  if (!execution_id.empty() && compare_bytes(execution_id, id) != 0) {
    agdx::refuse(error, Rule::execution_mismatch, "context.execution_id");
    return refuse_part(context_, error);
  }
  return true;
}

}  // namespace tidemark::agdx
