#include <bit>
#include <cstring>
#include <string>

#include "agdx/query_reply.hpp"
#include "agdx/query_value.hpp"
#include "agdx/typed_value.hpp"
#include "catch2/catch_amalgamated.hpp"
#include "machine/random.hpp"

using namespace tidemark;
using agdx::LogicalField;
using agdx::QueryReplyDecoder;
using agdx::TypeKind;
using Outcome = QueryReplyDecoder::Outcome;

namespace {

// A value to be sent, as a tape; and how to spell it.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_({seed, seed + 1, seed + 2, seed + 3}) {}

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool once_in(std::uint64_t times) { return random_.below(times) == 0; }

  agdx::FieldTree fields() {
    agdx::FieldTree tree;
    next_id_ = 1;
    tree.roots = static_cast<std::uint32_t>(1 + below(6));
    for (std::uint32_t index = 0; index < tree.roots; ++index) field(tree, agdx::FieldTree::none, 1, true);
    return tree;
  }

  void value(const agdx::FieldTree& tree, std::uint32_t node, tape::Writer& out) {
    const auto& type = tree.nodes[node];
    const bool null = !type.required && once_in(4);
    out.close(out.open(tape::Tag::map), null ? 1 : 2);
    out.key("kind"), out.text(kind_name(null ? TypeKind::null : type.kind));
    if (null) return;
    out.key("value");
    switch (type.kind) {
      case TypeKind::boolean: out.boolean(once_in(2)); break;
      case TypeKind::int_:
      case TypeKind::date: out.i32(static_cast<std::int32_t>(wide())); break;
      case TypeKind::long_:
      case TypeKind::timestamp_micros:
      case TypeKind::timestamp_tz_micros: out.i64(static_cast<std::int64_t>(wide())); break;
      case TypeKind::time_micros: out.i64(static_cast<std::int64_t>(below(86'400'000'000))); break;
      case TypeKind::float_: out.f32(static_cast<float>(real())); break;
      case TypeKind::double_: out.f64(real()); break;
      case TypeKind::decimal: decimal(type, out); break;
      case TypeKind::string: out.text(text()); break;
      case TypeKind::uuid: out.bytes(run(16)); break;
      case TypeKind::fixed: out.bytes(run(type.length)); break;
      case TypeKind::binary: out.bytes(run(below(40))); break;
      case TypeKind::struct_: {
        const auto mark = out.open(tape::Tag::array);
        auto child = node + 1;
        for (std::uint32_t index = 0; index < type.children; ++index, child = tree.nodes[child].end) {
          out.close(out.open(tape::Tag::map), 2);
          out.key("field_id"), out.u32(tree.nodes[child].id);
          out.key("value"), value(tree, child, out);
        }
        out.close(mark, type.children);
        break;
      }
      case TypeKind::list: {
        const auto count = static_cast<std::uint32_t>(below(5));
        const auto mark = out.open(tape::Tag::array);
        for (std::uint32_t index = 0; index < count; ++index) value(tree, node + 1, out);
        out.close(mark, count);
        break;
      }
      case TypeKind::map: {
        // Keys in canonical order: longs that ascend as unsigned numbers.
        const auto count = static_cast<std::uint32_t>(below(5));
        const auto mark = out.open(tape::Tag::array);
        std::uint64_t key = below(1000);
        for (std::uint32_t index = 0; index < count; ++index) {
          out.close(out.open(tape::Tag::map), 2);
          out.key("key");
          out.close(out.open(tape::Tag::map), 2);
          out.key("kind"), out.text("long");
          out.key("value"), out.i64(static_cast<std::int64_t>(key));
          key += 1 + (below(2) == 0 ? below(100) : UINT64_MAX / 8);
          out.key("value"), value(tree, tree.nodes[node + 1].end, out);
        }
        out.close(mark, count);
        break;
      }
      case TypeKind::null: break;
    }
  }

 private:
  void field(agdx::FieldTree& tree, std::uint32_t parent, std::uint32_t depth, bool named) {
    const auto node = static_cast<std::uint32_t>(tree.nodes.size());
    tree.nodes.emplace_back();
    LogicalField made;
    made.parent = parent;
    made.id = next_id_++;
    made.required = once_in(2);
    // Scalars beyond a few levels.
    made.kind = static_cast<TypeKind>(below(depth > 3 ? 14 : 17));
    made.precision = static_cast<std::uint8_t>(1 + below(38));
    made.scale = static_cast<std::uint8_t>(below(made.precision + 1UL));
    made.length = static_cast<std::uint32_t>(1 + below(20));
    if (named) {
      const auto name = "field" + std::to_string(made.id);
      made.name_at = static_cast<std::uint32_t>(tree.text.size());
      made.name_size = static_cast<std::uint32_t>(name.size());
      tree.text.insert(tree.text.end(), name.begin(), name.end());
    }
    if (made.kind == TypeKind::struct_) made.children = static_cast<std::uint32_t>(below(4));
    if (made.kind == TypeKind::list) made.children = 1;
    if (made.kind == TypeKind::map) made.children = 2;
    for (std::uint32_t index = 0; index < made.children; ++index) {
      const bool key = made.kind == TypeKind::map && index == 0;
      const auto child = static_cast<std::uint32_t>(tree.nodes.size());
      if (key) {
        auto& of_key = tree.nodes.emplace_back();
        of_key.id = next_id_++;
        of_key.kind = TypeKind::long_;
        of_key.required = true;
        of_key.parent = node;
        of_key.end = child + 1;
      } else {
        field(tree, node, depth + 1, made.kind == TypeKind::struct_);
      }
    }
    made.end = static_cast<std::uint32_t>(tree.nodes.size());
    tree.nodes[node] = made;
  }

  std::uint64_t wide() { return random_.next() >> below(64); }

  double real() {
    for (;;) {
      const auto value = once_in(2) ? static_cast<double>(static_cast<std::int64_t>(below(2000)) - 1000) / 8
                                    : std::bit_cast<double>(random_.next());
      const auto narrow = static_cast<float>(value);
      if (std::isfinite(narrow) && !(narrow == 0 && std::signbit(narrow)) &&
          !(value == 0 && std::signbit(value)))
        return value;
    }
  }

  void decimal(const LogicalField& type, tape::Writer& out) {
    bytes::Buffer unscaled = run(1 + below(16));
    while (agdx::check_decimal(unscaled, type.precision, type.scale) != Rule::none)
      unscaled = run(1 + below(1 + type.precision / 3U));
    out.close(out.open(tape::Tag::map), 3);
    out.key("unscaled"), out.bytes(unscaled);
    out.key("precision"), out.u32(type.precision);
    out.key("scale"), out.u32(type.scale);
  }

  bytes::Buffer run(std::uint64_t size) {
    bytes::Buffer bytes(static_cast<std::size_t>(size));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_.next());
    // Half of them small, so that short decimals are met.
    if (size > 0 && once_in(2)) bytes[0] = static_cast<std::uint8_t>(below(8));
    return bytes;
  }

  std::string text() {
    constexpr std::string_view parts[] = {"a", "paid", "0123456789abcdef", "ż", "中", "😀", "\"\\\n"};
    std::string made;
    for (auto left = below(8); left > 0; --left) made += parts[below(once_in(3) ? 7 : 3)];
    return made;
  }

  Random random_;
  std::uint32_t next_id_ = 1;
};

struct Sent {
  agdx::FieldTree fields;
  bytes::Buffer rows;  // the tape of all values, one behind the other
  std::uint32_t count = 0;
  bytes::Buffer reply;
};

void unusual_text(cbor::Writer&, bytes::Buffer& out, std::string_view text) {
  // In chunks of one byte would break UTF-8: one chunk, but of indefinite length.
  out.push_back(0x7F);
  cbor::Writer chunk(out);
  chunk.text(text);
  out.push_back(0xFF);
}

// A cell as a peer may also write it: the value first, an unknown key, chunked names.
void unusual_cell(tape::Value value, bytes::Buffer& out) {
  cbor::Writer writer(out);
  bytes::Buffer plain;
  cbor::Writer plain_writer(plain);
  agdx::write_value(value, plain_writer);
  const auto view = agdx::view_value(value);
  if (*view.kind == TypeKind::null) {
    out.push_back(0xBF);
    writer.text("kind");
    unusual_text(writer, out, "null");
    writer.text("note"), writer.u64(1);
    out.push_back(0xFF);
    return;
  }
  writer.map(3);
  writer.text("note");
  writer.array(1), writer.f64(2.5);
  writer.text("value");
  const auto head = 13 + kind_name(*view.kind).size();
  out.insert(out.end(), plain.begin() + static_cast<std::ptrdiff_t>(head), plain.end());
  writer.text("kind");
  unusual_text(writer, out, kind_name(*view.kind));
}

Sent make(Generator& generator, bool unusual) {
  Sent sent;
  sent.fields = generator.fields();
  sent.count = static_cast<std::uint32_t>(generator.below(12));
  tape::Writer tape(sent.rows);
  cbor::Writer out(sent.reply);
  out.map(1), out.text("Ok");
  out.map(4);
  out.text("fields"), agdx::write_fields(sent.fields, 0, sent.fields.roots, out);
  out.text("rows"), out.array(sent.count);
  for (std::uint32_t row = 0; row < sent.count; ++row) {
    const bool scored = generator.once_in(3);
    out.map(scored ? 2 : 1);
    out.text("values"), out.array(sent.fields.roots);
    for (std::uint32_t node = 0; node < sent.fields.nodes.size(); node = sent.fields.nodes[node].end) {
      const auto from = sent.rows.size();
      generator.value(sent.fields, node, tape);
      const tape::Value value{std::span<const std::uint8_t>(sent.rows).subspan(from)};
      if (unusual && generator.once_in(2))
        unusual_cell(value, sent.reply);
      else
        agdx::write_value(value, out);
    }
    if (scored) out.text("score"), out.f32(0.5F);
  }
  out.text("page"), out.map(2);
  out.text("limit"), out.u64(50), out.text("has_more"), out.boolean(false);
  const std::uint8_t id[16] = {1};
  out.text("context"), out.map(10);
  out.text("execution_id"), out.bytes(id);
  out.text("engine"), out.map(2), out.text("name"), out.text("e"), out.text("version"), out.text("1");
  out.text("resolved_target"), out.map(5), out.text("kind"), out.text("operational");
  out.text("index"), out.text("i"), out.text("backend_resource_id"), out.bytes(id);
  out.text("backend_generation"), out.u64(1), out.text("runtime_configuration_revision"), out.u64(1);
  out.text("requested_consistency"), out.text("eventual");
  out.text("delivered_consistency"), out.text("eventual");
  out.text("truncated"), out.boolean(false);
  for (const auto* key : {"elapsed_micros", "scanned_bytes", "produced_bytes"}) out.text(key), out.u64(0);
  out.text("row_count"), out.u64(sent.count);
  return sent;
}

bytes::Buffer received(const QueryReplyDecoder& reply) {
  bytes::Buffer rows;
  tape::Writer tape(rows);
  const auto& tree = reply.fields();
  for (std::uint32_t row = 0; row < reply.rows(); ++row)
    for (std::uint32_t node = 0; node < tree.nodes.size(); node = tree.nodes[node].end)
      agdx::slot_value(tree, reply.columns(), node, row, tape);
  return rows;
}

// Every slot of every column can be read.
void walk(const QueryReplyDecoder& reply) {
  bytes::Buffer rows;
  tape::Writer tape(rows);
  const auto& columns = reply.columns();
  for (std::uint32_t node = 0; node < columns.count(); ++node)
    for (std::uint32_t slot = 0; slot < columns[node].length; ++slot)
      agdx::slot_value(reply.fields(), columns, node, slot, tape);
}

}  // namespace

TEST_CASE("random pages come out of the columns as they went in") {
  QueryReplyDecoder reply;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Generator generator(seed);
    const auto sent = make(generator, seed % 2 == 0);
    // On a heap block of exactly its size: a read past its end is seen.
    const std::vector<std::uint8_t> exact(sent.reply);
    CAPTURE(seed);
    const auto outcome = reply.decode(exact);
    CAPTURE(rule_name(reply.error().rule), reply.error().position, reply.error().path());
    REQUIRE(outcome == Outcome::page);
    REQUIRE(reply.rows() == sent.count);
    REQUIRE(received(reply) == sent.rows);
  }
}

TEST_CASE("a page of the same fields skips the schema and means the same") {
  QueryReplyDecoder reply;
  Generator generator(77);
  const auto sent = make(generator, false);
  REQUIRE(reply.decode(sent.reply) == Outcome::page);
  const auto schema = reply.schema_number();
  REQUIRE(reply.decode(sent.reply) == Outcome::page);
  CHECK(reply.schema_number() == schema);
  CHECK(received(reply) == sent.rows);
  Generator other(78);
  REQUIRE(reply.decode(make(other, false).reply) == Outcome::page);
  CHECK(reply.schema_number() != schema);
}

TEST_CASE("every cut of a page is refused as a whole") {
  QueryReplyDecoder reply;
  Generator generator(5);
  const auto sent = make(generator, true);
  for (std::size_t length = 0; length < sent.reply.size(); ++length) {
    const std::vector<std::uint8_t> cut(sent.reply.begin(),
                                        sent.reply.begin() + static_cast<std::ptrdiff_t>(length));
    CAPTURE(length);
    REQUIRE(reply.decode(cut) == Outcome::failed);
    REQUIRE(rule_class(reply.error().rule) == RuleClass::codec);
  }
}

TEST_CASE("changed bytes never crash, and give a page that keeps every rule or none") {
  QueryReplyDecoder reply;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Generator generator(seed / 20 + 1);
    auto sent = make(generator, seed % 3 == 0);
    Generator changes(seed * 31);
    for (auto left = 1 + changes.below(3); left > 0; --left)
      sent.reply[static_cast<std::size_t>(changes.below(sent.reply.size()))] =
          static_cast<std::uint8_t>(changes.below(256));
    const std::vector<std::uint8_t> exact(sent.reply);
    const auto outcome = reply.decode(exact);
    CAPTURE(seed);
    // What an earlier page left makes no difference.
    QueryReplyDecoder alone;
    REQUIRE(alone.decode(exact) == outcome);
    if (outcome == Outcome::failed) {
      REQUIRE(alone.error().rule == reply.error().rule);
      continue;
    }
    if (outcome != Outcome::page) continue;
    walk(reply);
    const auto& tree = reply.fields();
    for (std::uint32_t node = 0; node < tree.nodes.size(); node = tree.nodes[node].end) {
      REQUIRE(reply.columns()[node].length == reply.rows());
      for (std::uint32_t row = 0; row < reply.rows(); ++row) {
        bytes::Buffer one;
        tape::Writer tape(one);
        agdx::slot_value(tree, reply.columns(), node, row, tape);
        REQUIRE_FALSE(agdx::check_value(tape::Value{one}, tree, node));
      }
    }
  }
}

TEST_CASE("a refusal names the row and the column") {
  bytes::Buffer input;
  QueryReplyDecoder reply;
  cbor::Writer out(input);
  out.map(1), out.text("Ok"), out.map(2);
  out.text("fields"), out.array(1), out.map(4);
  out.text("id"), out.u64(1), out.text("name"), out.text("n"), out.text("required"), out.boolean(true);
  out.text("field_type"), out.map(1), out.text("kind"), out.text("long");
  out.text("rows"), out.array(2);
  for (const auto* kind : {"long", "int"}) {
    out.map(1), out.text("values"), out.array(1), out.map(2);
    out.text("kind"), out.text(kind), out.text("value"), out.u64(7);
  }
  REQUIRE(reply.decode(input) == Outcome::failed);
  CHECK(reply.error().rule == Rule::type_mismatch);
  CHECK(reply.error().path() == "rows.1.values.0.value");
  CHECK(reply.error().position > 0);
}

TEST_CASE("a declared length makes no room") {
  bytes::Buffer input;
  cbor::Writer out(input);
  out.map(1), out.text("Ok"), out.map(2);
  out.text("fields"), out.array(std::uint64_t{1} << 60);
  QueryReplyDecoder reply;
  REQUIRE(reply.decode(input) == Outcome::failed);
  CHECK(reply.error().rule == Rule::truncated);
}
