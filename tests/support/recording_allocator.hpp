// support/recording_allocator.hpp: an allocator that writes down what a container asks for.
#pragma once

#include <cstddef>
#include <map>
#include <new>
#include <utility>

namespace support {

/// What was asked for: (bytes of one object, alignment) -> the largest n, and how often.
struct allocation_record {
  struct entry {
    std::size_t calls = 0;
    std::size_t largest = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, entry> asked;
  std::size_t array_bytes_now = 0;   ///< of arrays (n != 1) in use
  std::size_t array_bytes_peak = 0;  ///< the most of them at one time
  std::size_t arrays_now = 0;
  std::size_t arrays_peak = 0;
  std::size_t largest_array = 0;  ///< bytes
  std::size_t ones_now = 0;       ///< single objects in use
  std::size_t ones_peak = 0;
};

template <class T>
struct recording_allocator {
  using value_type = T;
  allocation_record* record;

  explicit recording_allocator(allocation_record& to) noexcept : record(&to) {}
  template <class U>
  recording_allocator(const recording_allocator<U>& other) noexcept : record(other.record) {}

  T* allocate(std::size_t n) {
    auto& entry = record->asked[{sizeof(T), alignof(T)}];
    ++entry.calls;
    if (n > entry.largest) entry.largest = n;
    if (n == 1) {
      if (++record->ones_now > record->ones_peak) record->ones_peak = record->ones_now;
    } else {
      if (++record->arrays_now > record->arrays_peak) record->arrays_peak = record->arrays_now;
      record->array_bytes_now += n * sizeof(T);
      if (record->array_bytes_now > record->array_bytes_peak)
        record->array_bytes_peak = record->array_bytes_now;
      if (n * sizeof(T) > record->largest_array) record->largest_array = n * sizeof(T);
    }
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(alignof(T))));
  }
  void deallocate(T* p, std::size_t n) noexcept {
    if (n == 1) {
      --record->ones_now;
    } else {
      --record->arrays_now;
      record->array_bytes_now -= n * sizeof(T);
    }
    ::operator delete(p, std::align_val_t(alignof(T)));
  }
  template <class U>
  friend bool operator==(const recording_allocator& a, const recording_allocator<U>& b) noexcept {
    return a.record == b.record;
  }
};

}  // namespace support
