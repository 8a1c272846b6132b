#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::agdx {

// What a logical type or a typed value is. The numbers of the types are the ones a schema fingerprint hashes.
enum class TypeKind : std::uint8_t {
  boolean,
  int_,
  long_,
  float_,
  double_,
  decimal,
  date,
  time_micros,
  timestamp_micros,
  timestamp_tz_micros,
  string,
  uuid,
  fixed,
  binary,
  struct_,
  list,
  map,
  null,  // a value only: no type is null
};

inline constexpr std::array<std::string_view, 18> kind_names = {"boolean",
                                                                "int",
                                                                "long",
                                                                "float",
                                                                "double",
                                                                "decimal",
                                                                "date",
                                                                "time_micros",
                                                                "timestamp_micros",
                                                                "timestamp_tz_micros",
                                                                "string",
                                                                "uuid",
                                                                "fixed",
                                                                "binary",
                                                                "struct",
                                                                "list",
                                                                "map",
                                                                "null"};

constexpr std::string_view kind_name(TypeKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

constexpr std::optional<TypeKind> kind_of(std::string_view name) {
  for (std::size_t index = 0; index < kind_names.size(); ++index)
    if (kind_names[index] == name) return static_cast<TypeKind>(index);
  return std::nullopt;
}

constexpr bool can_be_map_key(TypeKind kind) {
  switch (kind) {
    case TypeKind::float_:
    case TypeKind::double_:
    case TypeKind::struct_:
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::null: return false;
    default: return true;
  }
}

// Levels of a type or value, the outermost being 1.
inline constexpr std::uint32_t max_logical_depth = 16;
inline constexpr std::uint32_t max_entries = 4096;
inline constexpr std::uint32_t max_fixed_length = 1'048'576;
inline constexpr std::uint32_t max_value_bytes = 8'388'608;
inline constexpr std::uint8_t max_decimal_precision = 38;

}  // namespace tidemark::agdx
