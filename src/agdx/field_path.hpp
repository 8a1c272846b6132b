#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tidemark::agdx {

// Where a decoder stands ("fields.2.field_type.precision"), kept without allocating and cut when it gets long.
class FieldPath {
 public:
  // Restores the path at the end of a scope.
  class Step {
   public:
    Step(FieldPath& path, std::string_view name) : path_(path), size_(path.size_) { path.push(name); }
    Step(FieldPath& path, std::uint32_t index) : path_(path), size_(path.size_) { path.push(index); }
    ~Step() { path_.size_ = size_; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    FieldPath& path_;
    std::size_t size_;
  };

  void clear() { size_ = 0; }
  std::string_view view() const { return {text_, size_}; }
  void push(std::string_view name) {
    if (size_ > 0) append(".");
    append(name);
  }
  void push(std::uint32_t index) {
    char digits[10];
    std::size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + index % 10);
      index /= 10;
    } while (index > 0);
    push(std::string_view{digits + at, sizeof digits - at});
  }

 private:
  void append(std::string_view text) {
    const auto room = sizeof text_ - size_;
    const auto length = text.size() < room ? text.size() : room;
    std::memcpy(text_ + size_, text.data(), length);
    size_ += length;
  }
  char text_[95] = {};
  std::size_t size_ = 0;
};

}  // namespace tidemark::agdx
