#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytes/tape.hpp"

namespace tidemark::client {

// A map on a tape that counts its own entries and closes itself.
class TapeMap {
 public:
  explicit TapeMap(tape::Writer& out) : out_(out), mark_(out.open(tape::Tag::map)) {}
  ~TapeMap() { out_.close(mark_, count_); }
  TapeMap(const TapeMap&) = delete;
  TapeMap& operator=(const TapeMap&) = delete;

  // The writer, behind a key: exactly one value must follow.
  tape::Writer& at(std::string_view key) {
    count_ += 1;
    out_.key(key);
    return out_;
  }
  void text(std::string_view key, std::string_view value) { at(key).text(value); }
  void boolean(std::string_view key, bool value) { at(key).boolean(value); }
  void u32(std::string_view key, std::uint32_t value) { at(key).u32(value); }
  void u64(std::string_view key, std::uint64_t value) { at(key).u64(value); }
  void u128(std::string_view key, tape::U128 value) { at(key).u128(value); }
  void f64(std::string_view key, double value) { at(key).f64(value); }
  // A value that lies on another tape.
  void value(std::string_view key, std::span<const std::uint8_t> tape) { at(key).copy(tape); }

 private:
  tape::Writer& out_;
  std::size_t mark_;
  std::uint32_t count_ = 0;
};

}  // namespace tidemark::client
