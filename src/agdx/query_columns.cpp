#include "agdx/query_columns.hpp"

#include "cbor/writer.hpp"

namespace tidemark::agdx {
namespace {

constexpr std::uint32_t first_slots = 64;

std::uint32_t slot_width(TypeKind kind) {
  switch (kind) {
    case TypeKind::int_:
    case TypeKind::date:
    case TypeKind::float_: return 4;
    case TypeKind::long_:
    case TypeKind::double_:
    case TypeKind::time_micros:
    case TypeKind::timestamp_micros:
    case TypeKind::timestamp_tz_micros: return 8;
    case TypeKind::decimal:
    case TypeKind::uuid: return 16;
    default: return 0;
  }
}

bool needs_offsets(TypeKind kind) {
  switch (kind) {
    case TypeKind::string:
    case TypeKind::fixed:
    case TypeKind::binary:
    case TypeKind::struct_:
    case TypeKind::list:
    case TypeKind::map: return true;
    default: return false;
  }
}

}  // namespace

void QueryColumn::start(const LogicalField& field) {
  kind = field.kind;
  required = field.required;
  precision = field.precision;
  scale = field.scale;
  fixed_length = field.length;
  width = slot_width(kind);
  has_offsets_ = needs_offsets(kind);
  length = nulls = bytes = 0;
  ascii = true;
  // Room kept from another schema may be of another width.
  slots_ = 0;
  grow();
  if (has_offsets_) offsets[0] = 0;
  if (kind == TypeKind::string) utf16[0] = 0;
  if (kind == TypeKind::decimal) {
    bytes::Buffer tail;
    cbor::Writer writer(tail);
    writer.text("precision"), writer.u64(precision);
    writer.text("scale"), writer.u64(scale);
    decimal_tail_size = static_cast<std::uint32_t>(tail.size());
    std::memcpy(decimal_tail, tail.data(), tail.size());
    decimal_limit = 1;
    for (std::uint32_t digit = 0; digit < precision; ++digit) decimal_limit *= 10;
  }
}

std::size_t QueryColumn::values_size() const {
  if (kind == TypeKind::boolean) return validity_size();
  return width > 0 ? std::size_t{length} * width : bytes;
}

void QueryColumn::grow() {
  // Everything that earlier pages made room for is there at once.
  auto slots = slots_ == 0 ? static_cast<std::uint32_t>(validity.capacity()) * 8 : slots_ * 2;
  if (slots < first_slots) slots = first_slots;
  const auto used = validity_size();
  validity.reserve(slots / 8, used);
  std::memset(validity.data() + slots_ / 8, 0xFF, (slots - slots_) / 8);
  if (kind == TypeKind::boolean)
    values.reserve(slots / 8, used);
  else if (width > 0)
    values.reserve(std::size_t{slots} * width, std::size_t{length} * width);
  if (has_offsets_) offsets.reserve(slots + 1UL, slots_ == 0 ? 0 : length + 1UL);
  if (kind == TypeKind::string) utf16.reserve(slots + 1UL, slots_ == 0 ? 0 : length + 1UL);
  slots_ = slots;
}

void QueryColumn::grow_values(std::uint32_t more) {
  const auto needed = std::size_t{bytes} + more + 8;
  const auto doubled = values.capacity() * 2;
  values.reserve(needed > doubled ? needed : doubled, bytes);
}

void QueryColumn::push_null() {
  make_room();
  auto& byte = validity[length / 8];
  byte = static_cast<std::uint8_t>(byte & ~(1U << length % 8));
  if (kind == TypeKind::boolean) {
    auto& bits = values[length / 8];
    bits = static_cast<std::uint8_t>(bits & ~(1U << length % 8));
  } else if (width > 0) {
    std::memset(values.data() + std::size_t{length} * width, 0, width);
  }
  if (has_offsets_) offsets[length + 1] = offsets[length];
  if (kind == TypeKind::string) utf16[length + 1] = utf16[length];
  ++length;
  ++nulls;
}

void QueryColumn::push_decimal(std::span<const std::uint8_t> unscaled) {
  make_room();
  auto* to = values.data() + std::size_t{length} * 16;
  const auto size = unscaled.size();
  std::memset(to, (unscaled[0] & 0x80) != 0 ? 0xFF : 0x00, 16);
  for (std::size_t index = 0; index < size; ++index) to[index] = unscaled[size - 1 - index];
  ++length;
}

void QueryColumn::push_bytes(std::span<const std::uint8_t> value) {
  make_room();
  append(value);
  ++length;
}

void QueryColumns::start(const FieldTree& tree) {
  count_ = static_cast<std::uint32_t>(tree.nodes.size());
  if (columns_.size() < count_) columns_.resize(count_);
  for (std::uint32_t node = 0; node < count_; ++node) columns_[node].start(tree.nodes[node]);
}

}  // namespace tidemark::agdx
