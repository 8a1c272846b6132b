#include "agdx/query_value.hpp"

namespace tidemark::agdx {
namespace {

template <class T>
T at(const QueryColumn& column, std::uint32_t slot) {
  T value;
  std::memcpy(&value, column.values.data() + std::size_t{slot} * sizeof(T), sizeof(T));
  return value;
}

void entries(const FieldTree& tree, const QueryColumns& columns, std::uint32_t node, std::uint32_t slot,
             tape::Writer& out) {
  const auto& column = columns[node];
  const auto from = column.offsets[slot];
  const auto to = column.offsets[slot + 1];
  const auto array = out.open(tape::Tag::array);
  if (column.kind == TypeKind::struct_) {
    const auto count = tree.nodes[node].children;
    out.close(array, count);
    auto child = node + 1;
    for (std::uint32_t index = 0; index < count; ++index, child = tree.nodes[child].end) {
      out.close(out.open(tape::Tag::map), 2);
      out.key("field_id"), out.u32(tree.nodes[child].id);
      out.key("value"), slot_value(tree, columns, child, from, out);
    }
    return;
  }
  out.close(array, to - from);
  for (auto entry = from; entry < to; ++entry) {
    if (column.kind == TypeKind::list) {
      slot_value(tree, columns, node + 1, entry, out);
      continue;
    }
    out.close(out.open(tape::Tag::map), 2);
    out.key("key"), slot_value(tree, columns, node + 1, entry, out);
    out.key("value"), slot_value(tree, columns, tree.nodes[node + 1].end, entry, out);
  }
}

void decimal(const QueryColumn& column, std::uint32_t slot, tape::Writer& out) {
  std::uint8_t bytes[16];
  const auto* from = column.values.data() + std::size_t{slot} * 16;
  for (std::size_t index = 0; index < 16; ++index) bytes[index] = from[15 - index];
  std::size_t skip = 0;
  while (skip < 15 && ((bytes[skip] == 0x00 && bytes[skip + 1] < 0x80) ||
                       (bytes[skip] == 0xFF && bytes[skip + 1] >= 0x80)))
    ++skip;
  out.close(out.open(tape::Tag::map), 3);
  out.key("unscaled"), out.bytes(std::span<const std::uint8_t>{bytes}.subspan(skip));
  out.key("precision"), out.u32(column.precision);
  out.key("scale"), out.u32(column.scale);
}

}  // namespace

void slot_value(const FieldTree& tree, const QueryColumns& columns, std::uint32_t node, std::uint32_t slot,
                tape::Writer& out) {
  const auto& column = columns[node];
  const bool null = (column.validity[slot / 8] >> slot % 8 & 1) == 0;
  out.close(out.open(tape::Tag::map), null ? 1 : 2);
  out.key("kind"), out.text(kind_name(null ? TypeKind::null : column.kind));
  if (null) return;
  out.key("value");
  const auto run = [&] {
    return std::span<const std::uint8_t>{column.values.data() + column.offsets[slot],
                                         column.offsets[slot + 1] - column.offsets[slot]};
  };
  switch (column.kind) {
    case TypeKind::boolean: out.boolean((column.values[slot / 8] >> slot % 8 & 1) != 0); break;
    case TypeKind::int_:
    case TypeKind::date: out.i32(at<std::int32_t>(column, slot)); break;
    case TypeKind::long_:
    case TypeKind::time_micros:
    case TypeKind::timestamp_micros:
    case TypeKind::timestamp_tz_micros: out.i64(at<std::int64_t>(column, slot)); break;
    case TypeKind::float_: out.f32(at<float>(column, slot)); break;
    case TypeKind::double_: out.f64(at<double>(column, slot)); break;
    case TypeKind::decimal: decimal(column, slot, out); break;
    case TypeKind::string: out.text(bytes::as_text(run())); break;
    case TypeKind::uuid: out.bytes({column.values.data() + std::size_t{slot} * 16, 16}); break;
    case TypeKind::fixed:
    case TypeKind::binary: out.bytes(run()); break;
    default: entries(tree, columns, node, slot, out);
  }
}

}  // namespace tidemark::agdx
