#include <bit>

#include "agdx/schema.hpp"

namespace tidemark::agdx {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void compress(std::array<std::uint32_t, 8>& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t index = 0; index < 16; ++index)
    words[index] = static_cast<std::uint32_t>(block[index * 4]) << 24 |
                   static_cast<std::uint32_t>(block[index * 4 + 1]) << 16 |
                   static_cast<std::uint32_t>(block[index * 4 + 2]) << 8 | block[index * 4 + 3];
  for (std::size_t index = 16; index < 64; ++index) {
    const auto a = words[index - 15];
    const auto b = words[index - 2];
    words[index] = words[index - 16] + words[index - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                   (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t index = 0; index < 64; ++index) {
    const auto first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                       round_constants[index] + words[index];
    const auto second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void u32_be(bytes::Buffer& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

void text_be(bytes::Buffer& out, std::string_view text) {
  u32_be(out, static_cast<std::uint32_t>(text.size()));
  const auto view = bytes::as_bytes(text);
  out.insert(out.end(), view.begin(), view.end());
}

void hash_type(const FieldTree& tree, std::uint32_t index, bytes::Buffer& out);

void hash_fields(const FieldTree& tree, std::uint32_t first, std::uint32_t count, bytes::Buffer& out) {
  u32_be(out, count);
  for (auto index = first; count > 0; --count, index = tree.nodes[index].end) {
    const auto& field = tree.nodes[index];
    u32_be(out, field.id);
    out.push_back(field.required ? 1 : 0);
    text_be(out, tree.name(field));
    out.push_back(field.has_doc ? 1 : 0);
    if (field.has_doc) text_be(out, tree.doc(field));
    hash_type(tree, index, out);
  }
}

void hash_type(const FieldTree& tree, std::uint32_t index, bytes::Buffer& out) {
  const auto& type = tree.nodes[index];
  out.push_back(static_cast<std::uint8_t>(type.kind));
  switch (type.kind) {
    case TypeKind::decimal:
      out.push_back(type.precision);
      out.push_back(type.scale);
      break;
    case TypeKind::fixed: u32_be(out, type.length); break;
    case TypeKind::struct_: hash_fields(tree, index + 1, type.children, out); break;
    case TypeKind::list: {
      if (type.children < 1) break;
      const auto& element = tree.nodes[index + 1];
      u32_be(out, element.id);
      out.push_back(element.required ? 1 : 0);
      hash_type(tree, index + 1, out);
      break;
    }
    case TypeKind::map: {
      if (type.children < 2) break;
      const auto& key = tree.nodes[index + 1];
      u32_be(out, key.id);
      hash_type(tree, index + 1, out);
      const auto& value = tree.nodes[key.end];
      u32_be(out, value.id);
      out.push_back(value.required ? 1 : 0);
      hash_type(tree, key.end, out);
      break;
    }
    default: break;
  }
}

}  // namespace

Fingerprint sha256(std::span<const std::uint8_t> input) {
  std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto bits = static_cast<std::uint64_t>(input.size()) * 8;
  for (; input.size() >= 64; input = input.subspan(64)) compress(state, input.data());
  std::array<std::uint8_t, 128> tail = {};
  if (!input.empty()) std::memcpy(tail.data(), input.data(), input.size());
  tail[input.size()] = 0x80;
  const std::size_t size = input.size() < 56 ? 64 : 128;
  for (std::size_t index = 0; index < 8; ++index)
    tail[size - 1 - index] = static_cast<std::uint8_t>(bits >> (8 * index));
  for (std::size_t at = 0; at < size; at += 64) compress(state, tail.data() + at);
  Fingerprint digest = {};
  for (std::size_t index = 0; index < digest.size(); ++index)
    digest[index] = static_cast<std::uint8_t>(state[index / 4] >> (24 - 8 * (index % 4)));
  return digest;
}

void fingerprint_input(const LogicalSchema& schema, bytes::Buffer& out) {
  out.clear();
  const auto label = bytes::as_bytes("AGDX-SCHEMA-V1");
  out.insert(out.end(), label.begin(), label.end());
  out.push_back(0);
  out.insert(out.end(), schema.id.begin(), schema.id.end());
  u32_be(out, schema.version);
  hash_fields(schema.fields, 0, schema.fields.roots, out);
}

Fingerprint fingerprint(const LogicalSchema& schema) {
  bytes::Buffer input;
  fingerprint_input(schema, input);
  return sha256(input);
}

}  // namespace tidemark::agdx
