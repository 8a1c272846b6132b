#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace tidemark::agdx {

// Values of one type in one run, without the zero-filling and the bounds of a vector: the owner makes room
// once a batch and writes by index. The buffer is kept from batch to batch.
template <class T>
class Column {
 public:
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  std::size_t capacity() const { return capacity_; }
  // Room for `capacity` values; the first `used` are kept.
  [[gnu::noinline]] void reserve(std::size_t capacity, std::size_t used) {
    if (capacity <= capacity_) return;
    std::unique_ptr<T[]> larger(new T[capacity]);
    if (used > 0) std::memcpy(larger.get(), data_.get(), used * sizeof(T));
    data_ = std::move(larger);
    capacity_ = capacity;
  }
  void swap(Column& other) noexcept {
    data_.swap(other.data_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t capacity_ = 0;
};

}  // namespace tidemark::agdx
