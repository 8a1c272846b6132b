#pragma once

#include "agdx/message.hpp"

// Words to write message tables with; for the files that define them, not for their users.
namespace tidemark::agdx::table {

struct Row : Field {
  constexpr Row(const char* name, Kind field_kind, const void* field_type = nullptr) {
    key = name;
    kind = field_kind;
    type = field_type;
  }
  constexpr Row optional() const { return with(Presence::optional); }
  constexpr Row nullable() const { return with(Presence::nullable); }
  // Written always; missing reads as `value`.
  constexpr Row otherwise(std::uint32_t value = 0) const {
    auto row = with(Presence::defaulted);
    row.fallback = value;
    return row;
  }
  constexpr Row otherwise(const char* value) const {
    auto row = with(Presence::defaulted);
    row.fallback_text = value;
    return row;
  }
  // Left out when it is `value`; missing reads as it.
  constexpr Row unless(std::uint32_t value = 0) const {
    auto row = with(Presence::skip_default);
    row.fallback = value;
    return row;
  }
  constexpr Row list() const {
    auto row = *this;
    row.array = true;
    return row;
  }
  constexpr Row keeps(Limit what, Rule broken, std::uint32_t low = 0, std::uint32_t high = UINT32_MAX) const {
    auto row = *this;
    row.limit = what;
    row.rule = broken;
    row.minimum = low;
    row.maximum = high;
    return row;
  }
  constexpr Row nonzero(Rule broken) const { return keeps(Limit::nonzero, broken); }
  constexpr Row label(Rule broken, std::uint32_t high = 255) const {
    return keeps(Limit::label, broken, 1, high);
  }

 private:
  constexpr Row with(Presence how) const {
    auto row = *this;
    row.presence = how;
    return row;
  }
};

constexpr Row boolean(const char* key) { return {key, Kind::boolean}; }
constexpr Row u8(const char* key) { return {key, Kind::u8}; }
constexpr Row u16(const char* key) { return {key, Kind::u16}; }
constexpr Row u32(const char* key) { return {key, Kind::u32}; }
constexpr Row u64(const char* key) { return {key, Kind::u64}; }
constexpr Row i32(const char* key) { return {key, Kind::i32}; }
constexpr Row i64(const char* key) { return {key, Kind::i64}; }
constexpr Row u128(const char* key) { return {key, Kind::u128}; }
constexpr Row text(const char* key) { return {key, Kind::text}; }
constexpr Row blob(const char* key) { return {key, Kind::bytes}; }
constexpr Row id(const char* key) { return {key, Kind::id}; }
constexpr Row any(const char* key) { return {key, Kind::any}; }
constexpr Row name(const char* key, const Names& names) { return {key, Kind::name, &names}; }
constexpr Row message(const char* key, const Message& type) { return {key, Kind::message, &type}; }
constexpr Row one_of(const char* key, const Union& type) { return {key, Kind::one_of, &type}; }
constexpr Row version() { return u32("v").keeps(Limit::equals, Rule::version, 1); }

template <std::size_t count>
constexpr Names names(const char* const (&list)[count], bool open = false) {
  return {list, static_cast<std::uint8_t>(count), open};
}

}  // namespace tidemark::agdx::table
