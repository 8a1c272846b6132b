#include <charconv>
#include <string_view>

#include "agdx/typed_value.hpp"

namespace tidemark::agdx {
namespace {

class Text {
 public:
  explicit Text(bytes::Buffer& out) : out_(out) {}

  void add(std::string_view text) { out_.insert(out_.end(), text.begin(), text.end()); }
  void add(char byte) { out_.push_back(static_cast<std::uint8_t>(byte)); }

  template <class T>
  void integer(T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
  }

  void hex(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const auto byte : bytes) {
      add(digits[byte >> 4]);
      add(digits[byte & 15]);
    }
  }

  // The shortest digits that give the value back, and where the decimal point goes.
  template <class T>
  void number(T value, bool json) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
    std::string_view rest{text, static_cast<std::size_t>(end - text)};
    if (rest.front() == '-') {
      add('-');
      rest.remove_prefix(1);
    }
    const auto mark = rest.find('e');
    char digits[24];
    int count = 0;
    for (const auto byte : rest.substr(0, mark))
      if (byte != '.') digits[count++] = byte;
    int exponent = 0;
    auto power = rest.substr(mark + 1);
    if (power.front() == '+') power.remove_prefix(1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
    place({digits, static_cast<std::size_t>(count)}, value == 0 ? 1 : exponent + 1, json, sizeof(T) == 4);
  }

  void json_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    add('"');
    for (const auto byte : text) {
      switch (byte) {
        case '"': add("\\\""); break;
        case '\\': add("\\\\"); break;
        case '\b': add("\\b"); break;
        case '\f': add("\\f"); break;
        case '\n': add("\\n"); break;
        case '\r': add("\\r"); break;
        case '\t': add("\\t"); break;
        default:
          if (static_cast<std::uint8_t>(byte) >= 0x20) {
            add(byte);
          } else {
            add("\\u00");
            add(digits[static_cast<std::uint8_t>(byte) >> 4]);
            add(digits[static_cast<std::uint8_t>(byte) & 15]);
          }
      }
    }
    add('"');
  }

  void json_bytes(std::span<const std::uint8_t> bytes) {
    add('[');
    bool first = true;
    for (const auto byte : bytes) {
      if (!first) add(',');
      first = false;
      integer(static_cast<unsigned>(byte));
    }
    add(']');
  }

 private:
  // `point` digits stand before the decimal point. JSON switches to an exponent outside a range that depends
  // on the width, and always shows that it is no integer.
  void place(std::string_view digits, int point, bool json, bool narrow) {
    const auto count = static_cast<int>(digits.size());
    if (json && (point > (narrow ? 13 : 16) || point <= (narrow ? -6 : -5))) {
      add(digits.substr(0, 1));
      if (count > 1) add('.'), add(digits.substr(1));
      add('e');
      integer(point - 1);
    } else if (point <= 0) {
      add("0.");
      zeros(-point);
      add(digits);
    } else if (point >= count) {
      add(digits);
      zeros(point - count);
      if (json) add(".0");
    } else {
      add(digits.substr(0, static_cast<std::size_t>(point)));
      add('.');
      add(digits.substr(static_cast<std::size_t>(point)));
    }
  }
  void zeros(int count) { out_.insert(out_.end(), static_cast<std::size_t>(count), '0'); }

  bytes::Buffer& out_;
};

std::uint64_t number_of(tape::Value value) {
  std::uint64_t number = 0;
  value.to_u64(number);
  return number;
}

void json(tape::Value value, Text& out) {
  const auto view = view_value(value);
  const auto kind = view.kind.value_or(TypeKind::null);
  out.add("{\"kind\":\"");
  out.add(kind_name(kind));
  if (kind == TypeKind::null) return out.add("\"}");
  out.add("\",\"value\":");
  double real = 0;
  std::int64_t whole = 0;
  switch (kind) {
    case TypeKind::boolean: out.add(view.value.boolean() ? "true" : "false"); break;
    case TypeKind::float_:
      view.value.to_f64(real);
      out.number(static_cast<float>(real), true);
      break;
    case TypeKind::double_:
      view.value.to_f64(real);
      out.number(real, true);
      break;
    case TypeKind::decimal:
      out.add("{\"unscaled\":");
      out.json_bytes(view.value.get("unscaled").bytes());
      out.add(",\"precision\":");
      out.integer(number_of(view.value.get("precision")));
      out.add(",\"scale\":");
      out.integer(number_of(view.value.get("scale")));
      out.add('}');
      break;
    case TypeKind::string: out.json_text(view.value.text()); break;
    case TypeKind::uuid:
    case TypeKind::fixed:
    case TypeKind::binary: out.json_bytes(view.value.bytes()); break;
    case TypeKind::struct_:
    case TypeKind::list:
    case TypeKind::map: {
      out.add('[');
      auto item = view.value.first();
      for (std::uint32_t index = 0; index < view.value.count(); ++index, item = item.next()) {
        if (index > 0) out.add(',');
        if (kind == TypeKind::list) {
          json(item, out);
          continue;
        }
        if (kind == TypeKind::struct_) {
          out.add("{\"field_id\":");
          out.integer(number_of(item.get("field_id")));
        } else {
          out.add("{\"key\":");
          json(item.get("key"), out);
        }
        out.add(",\"value\":");
        json(item.get("value"), out);
        out.add('}');
      }
      out.add(']');
      break;
    }
    default: view.value.to_i64(whole); out.integer(whole);
  }
  out.add('}');
}

}  // namespace

void diagnostic_text(tape::Value value, bytes::Buffer& buffer) {
  Text out(buffer);
  const auto view = view_value(value);
  double real = 0;
  std::int64_t whole = 0;
  switch (view.kind.value_or(TypeKind::null)) {
    case TypeKind::null: return out.add("null");
    case TypeKind::boolean: return out.add(view.value.boolean() ? "true" : "false");
    case TypeKind::float_: return view.value.to_f64(real), out.number(static_cast<float>(real), false);
    case TypeKind::double_: return view.value.to_f64(real), out.number(real, false);
    case TypeKind::decimal:
      out.add("0x");
      out.hex(view.value.get("unscaled").bytes());
      out.add(" scale ");
      return out.integer(number_of(view.value.get("scale")));
    case TypeKind::string: return out.add(view.value.text());
    case TypeKind::uuid: {
      const auto bytes = view.value.bytes();
      for (std::size_t index = 0; index < bytes.size(); ++index) {
        if (index == 4 || index == 6 || index == 8 || index == 10) out.add('-');
        out.hex(bytes.subspan(index, 1));
      }
      return;
    }
    case TypeKind::fixed:
    case TypeKind::binary: return out.add("0x"), out.hex(view.value.bytes());
    case TypeKind::struct_:
    case TypeKind::list:
    case TypeKind::map: return json(value, out);
    default: return view.value.to_i64(whole), out.integer(whole);
  }
}

}  // namespace tidemark::agdx
