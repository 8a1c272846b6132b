#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tidemark::bytes {

using Buffer = std::vector<std::uint8_t>;

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Appends little-endian values to a buffer that its owner keeps and reuses.
class Writer {
 public:
  explicit Writer(Buffer& out) : out_(out) {}

  std::size_t size() const { return out_.size(); }
  void u8(std::uint8_t value);
  void u16(std::uint16_t value);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  // Not of the buffer itself: what is written must not lie in it.
  void bytes(std::span<const std::uint8_t> value);
  void text(std::string_view value) { bytes(as_bytes(value)); }
  void zeros(std::size_t count) { grow(count); }
  // Overwrites a number written earlier, once its value is known (lengths, counts, checksums).
  void patch_u32(std::size_t at, std::uint32_t value) { std::memcpy(out_.data() + at, &value, sizeof value); }
  void patch_u64(std::size_t at, std::uint64_t value) { std::memcpy(out_.data() + at, &value, sizeof value); }

 private:
  // Zeros, and where they begin.
  [[gnu::noinline]] std::uint8_t* grow(std::size_t count);

  Buffer& out_;
};

}  // namespace tidemark::bytes
