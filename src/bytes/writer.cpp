#include "bytes/writer.hpp"

namespace tidemark::bytes {

// Not in the header: the growth of a vector in every place that writes a number is a tenth of a module.
std::uint8_t* Writer::grow(std::size_t count) {
  const auto at = out_.size();
  out_.resize(at + count);
  return out_.data() + at;
}

void Writer::u8(std::uint8_t value) { *grow(1) = value; }
void Writer::u16(std::uint16_t value) { std::memcpy(grow(sizeof value), &value, sizeof value); }
void Writer::u32(std::uint32_t value) { std::memcpy(grow(sizeof value), &value, sizeof value); }
void Writer::u64(std::uint64_t value) { std::memcpy(grow(sizeof value), &value, sizeof value); }

void Writer::bytes(std::span<const std::uint8_t> value) {
  if (!value.empty()) std::memcpy(grow(value.size()), value.data(), value.size());
}

}  // namespace tidemark::bytes
