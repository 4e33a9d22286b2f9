// Memory for the core's own arrays, zeroed unless all of it is about to be written. Large ones ask for large pages: a
// pass over the weights of a wide layer otherwise waits for address translation as much as for data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/simd.hpp"

namespace linnet::inline LINNET_ISA {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::ptrdiff_t n, bool zeroed = true) : size_(n) {
    if (n < 0 || n > PTRDIFF_MAX / 2 / static_cast<std::ptrdiff_t>(sizeof(T))) throw std::bad_alloc();
    std::size_t bytes = n * sizeof(T) + cache_line;  // a vector load at the last value stays in bounds
    const bool large = bytes >= large_page / 8;
    if (large) bytes = std::max(bytes, large_page);
    const auto alignment = std::align_val_t(large ? large_page : cache_line);
    data_ = {static_cast<T*>(::operator new[](bytes, alignment)), Free{alignment}};
#if defined(MADV_HUGEPAGE)
    // only a hint: failure changes nothing. The remainder, less than a large page, keeps small pages.
    if (large) madvise(data_.get(), bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
    if (zeroed) std::memset(static_cast<void*>(data_.get()), 0, bytes);
  }

  T* get() const { return data_.get(); }
  T& operator[](std::ptrdiff_t i) const { return data_.get()[i]; }
  std::ptrdiff_t size() const { return size_; }

 private:
  static constexpr std::size_t large_page = std::size_t{2} << 20;
  struct Free {
    std::align_val_t alignment{cache_line};
    void operator()(T* p) const { ::operator delete[](static_cast<void*>(p), alignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::ptrdiff_t size_ = 0;
};

}  // namespace linnet::inline LINNET_ISA
