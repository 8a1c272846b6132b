// Cells in any spelling that the contract allows, and those that hold others.
#include <cmath>
#include <iterator>
#include <optional>

#include "agdx/query_cell.hpp"
#include "agdx/query_map_keys.hpp"
#include "agdx/query_reply.hpp"
#include "agdx/typed_value.hpp"

namespace tidemark::agdx {
namespace {

constexpr const char* value_keys[] = {"kind", "value"};
constexpr const char* decimal_keys[] = {"unscaled", "precision", "scale"};
constexpr const char* member_keys[] = {"field_id", "value"};
constexpr const char* entry_keys[] = {"key", "value"};

}  // namespace

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
      if (kind == TypeKind::time_micros && (value < 0 || value >= cell::day_micros))
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
      column.push_text(value, false);
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

}  // namespace tidemark::agdx
