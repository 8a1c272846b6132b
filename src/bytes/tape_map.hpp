#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytes/tape.hpp"

namespace tidemark::tape {

// A map on a tape that counts its own entries and closes itself.
class MapWriter {
 public:
  explicit MapWriter(Writer& out) : out_(out), mark_(out.open(Tag::map)) {}
  ~MapWriter() { out_.close(mark_, count_); }
  MapWriter(const MapWriter&) = delete;
  MapWriter& operator=(const MapWriter&) = delete;

  // The writer, behind a key: exactly one value must follow.
  Writer& at(std::string_view key) {
    count_ += 1;
    out_.key(key);
    return out_;
  }
  void text(std::string_view key, std::string_view value) { at(key).text(value); }
  void boolean(std::string_view key, bool value) { at(key).boolean(value); }
  void u32(std::string_view key, std::uint32_t value) { at(key).u32(value); }
  void u64(std::string_view key, std::uint64_t value) { at(key).u64(value); }
  void u128(std::string_view key, U128 value) { at(key).u128(value); }
  void f64(std::string_view key, double value) { at(key).f64(value); }
  // A value that lies on another tape.
  void value(std::string_view key, std::span<const std::uint8_t> tape) { at(key).copy(tape); }

 private:
  Writer& out_;
  std::size_t mark_;
  std::uint32_t count_ = 0;
};

}  // namespace tidemark::tape
