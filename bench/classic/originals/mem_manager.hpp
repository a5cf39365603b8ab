// bench/classic/originals/mem_manager.hpp: the algorithm of "Custom C++ Memory Pool for Fast
// Allocation from Heap", written from that document's description, to measure against.
//
// As described: malloc gives one piece for all slots. A fresh slot is the next one of the piece; a
// freed slot's address goes on a stack, which is an array of MaxSize addresses inside the object,
// and is used first. One caller at a time. The document checks by assert; a release build has no
// asserts, so there are none here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>

namespace originals {

template <class T, std::size_t MaxSize>
class mem_manager {
 public:
  mem_manager() : slots_(static_cast<T*>(std::malloc(MaxSize * sizeof(T)))) {}
  mem_manager(const mem_manager&) = delete;
  mem_manager& operator=(const mem_manager&) = delete;
  ~mem_manager() { std::free(slots_); }

  [[nodiscard]] void* allocate() noexcept {
    if (freed_count_ != 0) return freed_[--freed_count_];
    return slots_ + used_count_++;
  }
  void deallocate(void* p) noexcept { freed_[freed_count_++] = static_cast<T*>(p); }

 private:
  T* slots_;
  std::array<T*, MaxSize> freed_;
  std::size_t freed_count_ = 0;
  std::size_t used_count_ = 0;
};

}  // namespace originals
