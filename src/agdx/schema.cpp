#include "agdx/schema.hpp"

#include <cstring>

#include "agdx/message.hpp"
#include "agdx/text_rules.hpp"

namespace tidemark::agdx {
namespace {

constexpr std::uint32_t max_field_id = 1'999'999'999;
constexpr std::uint32_t max_doc_bytes = 4096;
constexpr std::uint32_t max_schema_bytes = 1'048'576;

constexpr std::string_view provenance_names[] = {
    "__laser_cluster_incarnation",
    "__laser_source_incarnation",
    "__laser_stream_id",
    "__laser_topic_id",
    "__laser_partition_id",
    "__laser_offset",
    "__laser_row_ordinal",
    "__laser_projection_id",
    "__laser_projection_version",
    "__laser_destination_id",
    "__laser_destination_generation",
    "__laser_original_payload",
    "__laser_original_content_type",
    "__laser_original_schema_id",
};
constexpr std::uint32_t first_provenance_id = 2'000'000'001;

bool is_provenance_name(std::string_view name) {
  for (const auto known : provenance_names)
    if (known == name) return true;
  return false;
}
bool is_provenance(std::uint32_t id, std::string_view name) {
  const auto index = id - first_provenance_id;
  return index < std::size(provenance_names) && provenance_names[index] == name;
}

std::uint32_t size32(std::size_t size) { return static_cast<std::uint32_t>(size); }

enum TypeKey : std::size_t {
  type_kind,
  precision,
  scale,
  length,
  fields,
  element_id,
  element_required,
  element,
  key_id,
  map_key,
  value_id,
  value_required,
  map_value,
};
constexpr const char* type_keys[] = {"kind",       "precision",        "scale",   "length", "fields",
                                     "element_id", "element_required", "element", "key_id", "key",
                                     "value_id",   "value_required",   "value"};
constexpr const char* field_keys[] = {"id", "name", "required", "field_type", "doc"};

class FieldReader {
 public:
  FieldReader(Decoding& in, FieldTree& tree) : in_(in), reader_(in.reader), tree_(tree) {}

  std::uint32_t list(std::uint32_t parent, std::uint32_t depth) {
    auto items = reader_.array();
    std::uint32_t count = 0;
    while (reader_.next(items)) {
      const Path::Step step(in_.path, count++);
      if (tree_.nodes.size() > max_entries) {
        tree_.too_large = true;
        reader_.skip();
      } else {
        field(parent, depth);
      }
    }
    in_.note();
    return count;
  }

  // A node is open until close() says where its subtree ends.
  std::uint32_t open(std::uint32_t parent) {
    LogicalField node;
    node.parent = parent;
    node.position = size32(reader_.position());
    tree_.nodes.push_back(node);
    return size32(tree_.nodes.size() - 1);
  }
  void close(std::uint32_t node) { tree_.nodes[node].end = size32(tree_.nodes.size()); }

  void type(std::uint32_t node, std::uint32_t depth) {
    if (depth > max_logical_depth) {
      tree_.too_deep = true;
      reader_.skip();
      return in_.note();
    }
    const auto start = reader_.position();
    Keys keys{type_keys};
    auto map = reader_.map();
    while (reader_.next(map)) {
      if (keys.next(in_) == type_kind)
        kind(node);
      else
        reader_.skip();
    }
    in_.note();
    const auto end = reader_.mark();
    const auto go = [&](TypeKey key) {
      if (!in_.ok()) return false;
      if (!keys.has(key)) return in_.missing(type_keys[key], start), false;
      reader_.back(keys.at[key]);
      return true;
    };
    if (!keys.has(type_kind)) {
      if (in_.ok()) in_.missing("kind", start);
      return;
    }
    // `tree_.nodes` may move while children are read: no reference into it is held here.
    switch (tree_.nodes[node].kind) {
      case TypeKind::decimal:
        if (go(precision)) tree_.nodes[node].precision = member(&cbor::Reader::u8, precision);
        if (go(scale)) tree_.nodes[node].scale = member(&cbor::Reader::u8, scale);
        break;
      case TypeKind::fixed:
        if (go(length)) tree_.nodes[node].length = member(&cbor::Reader::u32, length);
        break;
      case TypeKind::struct_:
        if (go(fields)) {
          const Path::Step step(in_.path, type_keys[fields]);
          const auto count = list(node, depth + 1);
          tree_.nodes[node].children = count;
        }
        break;
      case TypeKind::list: {
        std::uint32_t id = 0;
        bool required = false;
        if (go(element_id)) id = member(&cbor::Reader::u32, element_id);
        if (go(element_required)) required = member(&cbor::Reader::boolean, element_required);
        if (go(element)) part(node, id, required, element, depth + 1);
        break;
      }
      case TypeKind::map: {
        std::uint32_t id = 0;
        bool required = false;
        if (go(key_id)) id = member(&cbor::Reader::u32, key_id);
        if (go(map_key)) part(node, id, true, map_key, depth + 1);
        if (go(value_id)) id = member(&cbor::Reader::u32, value_id);
        if (go(value_required)) required = member(&cbor::Reader::boolean, value_required);
        if (go(map_value)) part(node, id, required, map_value, depth + 1);
        break;
      }
      default: break;
    }
    reader_.back(end);
  }

 private:
  void field(std::uint32_t parent, std::uint32_t depth) {
    const auto start = reader_.position();
    const auto node = open(parent);
    Keys keys{field_keys};
    auto map = reader_.map();
    while (reader_.next(map)) {
      const auto key = keys.next(in_);
      if (key == std::size(field_keys)) {
        reader_.skip();
        continue;
      }
      const Path::Step step(in_.path, field_keys[key]);
      auto& field = tree_.nodes[node];
      switch (key) {
        case 0: field.id = reader_.u32(); break;
        case 1: store(field.name_at, field.name_size); break;
        case 2: field.required = reader_.boolean(); break;
        case 3: type(node, depth); break;
        default:
          if (reader_.take_null()) break;
          field.has_doc = true;
          store(field.doc_at, field.doc_size);
      }
      in_.note();
    }
    in_.note();
    for (std::size_t key = 0; key < 4 && in_.ok(); ++key)
      if (!keys.has(key)) in_.missing(field_keys[key], start);
    close(node);
  }

  void part(std::uint32_t parent, std::uint32_t id, bool required, TypeKey key, std::uint32_t depth) {
    const Path::Step step(in_.path, type_keys[key]);
    const auto node = open(parent);
    tree_.nodes[node].id = id;
    tree_.nodes[node].required = required;
    type(node, depth);
    close(node);
    tree_.nodes[parent].children += 1;
  }

  void kind(std::uint32_t node) {
    const Path::Step step(in_.path, "kind");
    const auto at = reader_.position();
    const auto found = kind_of(reader_.text());
    if (found && *found != TypeKind::null)
      tree_.nodes[node].kind = *found;
    else
      reader_.fail(Rule::unknown_variant, at);
    in_.note();
  }

  template <class T>
  T member(T (cbor::Reader::*read)(), TypeKey key) {
    const Path::Step step(in_.path, type_keys[key]);
    const auto value = (reader_.*read)();
    in_.note();
    return value;
  }

  void store(std::uint32_t& at, std::uint32_t& size) {
    const auto text = bytes::as_bytes(reader_.text());
    at = size32(tree_.text.size());
    size = size32(text.size());
    tree_.text.insert(tree_.text.end(), text.begin(), text.end());
  }

  Decoding& in_;
  cbor::Reader& reader_;
  FieldTree& tree_;
};

}  // namespace

void FieldTree::clear() {
  nodes.clear();
  text.clear();
  roots = 0;
  too_deep = false;
  too_large = false;
}

std::string_view FieldTree::name(const LogicalField& field) const {
  return bytes::as_text({text.data() + field.name_at, field.name_size});
}
std::string_view FieldTree::doc(const LogicalField& field) const {
  return bytes::as_text({text.data() + field.doc_at, field.doc_size});
}

void read_fields(Decoding& in, FieldTree& out) {
  out.clear();
  out.roots = FieldReader(in, out).list(FieldTree::none, 1);
}

void read_type(Decoding& in, FieldTree& out) {
  out.clear();
  FieldReader reader(in, out);
  const auto node = reader.open(FieldTree::none);
  reader.type(node, 1);
  reader.close(node);
  out.roots = 1;
}

Error FieldRules::check(const FieldTree& tree, FieldUse use) {
  path_ = {};
  error_ = {};
  size_ = 0;
  std::size_t slots = 16;
  while (slots < tree.nodes.size() * 2) slots *= 2;
  ids_.assign(slots, 0);
  names_.assign(slots, 0);
  const Path::Step step(path_, "fields");
  if (tree.too_large) {
    error_.rule = Rule::schema_size;
    error_.set_path(path_.text());
    return error_;
  }
  children(tree, 0, tree.roots, use, 1);
  if (!error_ && tree.too_deep) {
    error_.rule = Rule::depth_exceeded;
    error_.set_path(path_.text());
  }
  return error_;
}

void FieldRules::fail(Rule rule, const LogicalField& field, const char* part) {
  if (error_) return;
  const Path::Step step(path_, part);
  error_.rule = rule;
  error_.position = field.position;
  error_.set_path(path_.text());
}

void FieldRules::children(const FieldTree& tree, std::uint32_t first, std::uint32_t count, FieldUse use,
                          std::uint32_t depth) {
  for (std::uint32_t index = 0; index < count && !error_; ++index, first = tree.nodes[first].end) {
    const Path::Step step(path_, index);
    node(tree, first, use, depth);
  }
}

void FieldRules::node(const FieldTree& tree, std::uint32_t index, FieldUse use, std::uint32_t depth) {
  const auto& field = tree.nodes[index];
  const auto named = field.parent == FieldTree::none || tree.nodes[field.parent].kind == TypeKind::struct_;
  const auto name = tree.name(field);
  const auto from_source =
      use == FieldUse::result && field.parent == FieldTree::none && is_provenance(field.id, name);
  if (!from_source && (field.id == 0 || field.id > max_field_id)) return fail(Rule::field_id, field, "id");
  if (repeated_id(tree, index)) return fail(Rule::field_id_duplicate, field, "id");
  if (named) {
    if (!is_name(name)) return fail(Rule::field_name, field, "name");
    if (repeated_name(tree, index)) return fail(Rule::field_name_duplicate, field, "name");
    if (!from_source && is_provenance_name(name)) return fail(Rule::field_name_reserved, field, "name");
    if (field.doc_size > max_doc_bytes) return fail(Rule::field_doc, field, "doc");
    size_ += field.name_size + field.doc_size + 16;
  }
  if (index >= max_entries || size_ > max_schema_bytes) return fail(Rule::schema_size, field, "");
  switch (field.kind) {
    case TypeKind::decimal:
      if (field.precision < 1 || field.precision > max_decimal_precision || field.scale > field.precision)
        fail(Rule::decimal_precision, field, "field_type");
      break;
    case TypeKind::fixed:
      if (field.length < 1 || field.length > max_fixed_length) fail(Rule::fixed_length, field, "field_type");
      break;
    case TypeKind::map:
      if (field.children > 0 && !can_be_map_key(tree.nodes[index + 1].kind))
        fail(Rule::map_key_kind, field, "field_type");
      break;
    default: break;
  }
  // A reader that stopped at the depth limit left the node there without a kind.
  if (field.kind == TypeKind::null) return fail(Rule::depth_exceeded, field, "field_type");
  children(tree, index + 1, field.children, use, depth + 1);
}

bool FieldRules::repeated_id(const FieldTree& tree, std::uint32_t index) {
  const auto id = tree.nodes[index].id;
  for (auto slot = id * 2654435761U;; ++slot) {
    auto& taken = ids_[slot & (ids_.size() - 1)];
    if (taken == 0) return taken = index + 1, false;
    if (tree.nodes[taken - 1].id == id) return true;
  }
}

bool FieldRules::repeated_name(const FieldTree& tree, std::uint32_t index) {
  const auto& field = tree.nodes[index];
  const auto name = tree.name(field);
  std::uint32_t slot = 2166136261U ^ field.parent;
  for (const auto byte : name) slot = (slot ^ static_cast<std::uint8_t>(byte)) * 16777619U;
  for (;; ++slot) {
    auto& taken = names_[slot & (names_.size() - 1)];
    if (taken == 0) return taken = index + 1, false;
    const auto& other = tree.nodes[taken - 1];
    if (other.parent == field.parent && tree.name(other) == name) return true;
  }
}

void write_type(const FieldTree& tree, std::uint32_t index, cbor::Writer& out) {
  const auto& type = tree.nodes[index];
  const auto head = [&](std::uint64_t entries) {
    out.map(entries);
    out.text("kind");
    out.text(kind_name(type.kind));
  };
  switch (type.kind) {
    case TypeKind::decimal:
      head(3);
      out.text("precision"), out.u64(type.precision);
      out.text("scale"), out.u64(type.scale);
      break;
    case TypeKind::fixed:
      head(2);
      out.text("length"), out.u64(type.length);
      break;
    case TypeKind::struct_:
      head(2);
      out.text("fields");
      write_fields(tree, index + 1, type.children, out);
      break;
    case TypeKind::list: {
      const auto& item = tree.nodes[index + 1];
      head(4);
      out.text("element_id"), out.u64(item.id);
      out.text("element_required"), out.boolean(item.required);
      out.text("element"), write_type(tree, index + 1, out);
      break;
    }
    case TypeKind::map: {
      const auto& key = tree.nodes[index + 1];
      const auto& value = tree.nodes[key.end];
      head(6);
      out.text("key_id"), out.u64(key.id);
      out.text("key"), write_type(tree, index + 1, out);
      out.text("value_id"), out.u64(value.id);
      out.text("value_required"), out.boolean(value.required);
      out.text("value"), write_type(tree, key.end, out);
      break;
    }
    default: head(1);
  }
}

void write_fields(const FieldTree& tree, std::uint32_t first, std::uint32_t count, cbor::Writer& out) {
  out.array(count);
  for (; count > 0; --count, first = tree.nodes[first].end) {
    const auto& field = tree.nodes[first];
    out.map(field.has_doc ? 5 : 4);
    out.text("id"), out.u64(field.id);
    out.text("name"), out.text(tree.name(field));
    out.text("required"), out.boolean(field.required);
    out.text("field_type"), write_type(tree, first, out);
    if (field.has_doc) out.text("doc"), out.text(tree.doc(field));
  }
}

void write_type(const FieldTree& tree, std::uint32_t index, tape::Writer& out) {
  const auto& type = tree.nodes[index];
  const auto map = out.open(tape::Tag::map);
  out.key("kind"), out.text(kind_name(type.kind));
  std::uint32_t entries = 1;
  switch (type.kind) {
    case TypeKind::decimal:
      out.key("precision"), out.u32(type.precision);
      out.key("scale"), out.u32(type.scale);
      entries = 3;
      break;
    case TypeKind::fixed:
      out.key("length"), out.u32(type.length);
      entries = 2;
      break;
    case TypeKind::struct_:
      out.key("fields");
      write_fields(tree, index + 1, type.children, out);
      entries = 2;
      break;
    case TypeKind::list: {
      const auto& item = tree.nodes[index + 1];
      out.key("element_id"), out.u32(item.id);
      out.key("element_required"), out.boolean(item.required);
      out.key("element"), write_type(tree, index + 1, out);
      entries = 4;
      break;
    }
    case TypeKind::map: {
      const auto& key = tree.nodes[index + 1];
      const auto& value = tree.nodes[key.end];
      out.key("key_id"), out.u32(key.id);
      out.key("key"), write_type(tree, index + 1, out);
      out.key("value_id"), out.u32(value.id);
      out.key("value_required"), out.boolean(value.required);
      out.key("value"), write_type(tree, key.end, out);
      entries = 6;
      break;
    }
    default: break;
  }
  out.close(map, entries);
}

void write_fields(const FieldTree& tree, std::uint32_t first, std::uint32_t count, tape::Writer& out) {
  const auto array = out.open(tape::Tag::array);
  out.close(array, count);
  for (; count > 0; --count, first = tree.nodes[first].end) {
    const auto& field = tree.nodes[first];
    const auto map = out.open(tape::Tag::map);
    out.key("id"), out.u32(field.id);
    out.key("name"), out.text(tree.name(field));
    out.key("required"), out.boolean(field.required);
    out.key("field_type"), write_type(tree, first, out);
    if (field.has_doc) out.key("doc"), out.text(tree.doc(field));
    out.close(map, field.has_doc ? 5 : 4);
  }
}

void read_schema(Decoding& in, LogicalSchema& out) {
  static constexpr const char* schema_keys[] = {"schema", "fields"};
  static constexpr const char* ref_keys[] = {"id", "version", "fingerprint"};
  auto& reader = in.reader;
  const auto start = reader.position();
  Keys keys{schema_keys};
  auto map = reader.map();
  while (reader.next(map)) {
    const auto key = keys.next(in);
    if (key == std::size(schema_keys)) {
      reader.skip();
      continue;
    }
    const Path::Step step(in.path, schema_keys[key]);
    if (key == 1) {
      read_fields(in, out.fields);
      continue;
    }
    out.position = size32(reader.position());
    Keys parts{ref_keys};
    auto ref = reader.map();
    while (reader.next(ref)) {
      const auto part = parts.next(in);
      if (part == std::size(ref_keys)) {
        reader.skip();
        continue;
      }
      const Path::Step inner(in.path, ref_keys[part]);
      if (part == 0) {
        const auto id = reader.id();
        if (id.size() == out.id.size()) std::memcpy(out.id.data(), id.data(), id.size());
      } else if (part == 1) {
        out.version = reader.u32();
      } else {
        const auto digest = reader.bytes();
        out.fingerprint_whole = digest.size() == out.fingerprint.size();
        if (out.fingerprint_whole) std::memcpy(out.fingerprint.data(), digest.data(), digest.size());
      }
      in.note();
    }
    in.note();
    for (std::size_t part = 0; part < 3 && in.ok(); ++part)
      if (!parts.has(part)) in.missing(ref_keys[part], out.position);
  }
  in.note();
  for (std::size_t key = 0; key < 2 && in.ok(); ++key)
    if (!keys.has(key)) in.missing(schema_keys[key], start);
}

Error check_schema(const LogicalSchema& schema) {
  Error error;
  const auto refuse_at = [&](Rule rule, std::string_view field) {
    error.rule = rule;
    error.position = schema.position;
    error.set_path(field);
    return error;
  };
  if (all_zero(schema.id)) return refuse_at(Rule::schema_identity, "schema.id");
  if (schema.version == 0) return refuse_at(Rule::schema_identity, "schema.version");
  if (schema.fields.roots == 0) return refuse_at(Rule::schema_empty, "fields");
  FieldRules rules;
  error = rules.check(schema.fields, FieldUse::schema);
  if (error) return error;
  if (!schema.fingerprint_whole || fingerprint(schema) != schema.fingerprint)
    return refuse_at(Rule::schema_fingerprint, "schema.fingerprint");
  return error;
}

void write_schema(const LogicalSchema& schema, cbor::Writer& out) {
  out.map(2);
  out.text("schema");
  out.map(3);
  out.text("id"), out.bytes(schema.id);
  out.text("version"), out.u64(schema.version);
  out.text("fingerprint"), out.bytes(schema.fingerprint);
  out.text("fields");
  write_fields(schema.fields, 0, schema.fields.roots, out);
}

}  // namespace tidemark::agdx
