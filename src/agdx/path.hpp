#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>

#include "bytes/error.hpp"

namespace tidemark::agdx {

// Where in a message the engine is, as a dotted path for errors. Deeper than it can hold is left off.
class Path {
 public:
  class Step {
   public:
    Step(Path& path, const char* key) : path_(path), length_(path.length_) {
      if (*key != 0) path.add({key, std::strlen(key)});
    }
    Step(Path& path, std::uint32_t index) : path_(path), length_(path.length_) {
      char digits[10];
      const auto end = std::to_chars(digits, digits + sizeof digits, index).ptr;
      path.add({digits, static_cast<std::size_t>(end - digits)});
    }
    ~Step() { path_.length_ = length_; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Path& path_;
    std::size_t length_;
  };
  std::string_view text() const { return {text_, length_}; }

 private:
  void add(std::string_view part) {
    if (length_ + part.size() + 1 > sizeof text_) return;
    if (length_ > 0) text_[length_++] = '.';
    std::memcpy(text_ + length_, part.data(), part.size());
    length_ += part.size();
  }
  char text_[sizeof(Error::field)] = {};
  std::size_t length_ = 0;
};

}  // namespace tidemark::agdx
