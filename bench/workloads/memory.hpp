// bench/workloads/memory.hpp: pages of the harness's own, and what the kernel says about ours.
#pragma once

#include <cstddef>

namespace bench {

// Populated pages from the OS, not from the heap under test; counted by harness_bytes().
void* map_pages(std::size_t size_bytes);
std::size_t harness_bytes();

// A fixed array in such pages, zeroed, kept until the process ends.
template <class T>
class page_array {
 public:
  explicit page_array(std::size_t count)
      : data_(static_cast<T*>(map_pages(count * sizeof(T)))), count_(count) {}
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  std::size_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }

 private:
  T* data_;
  std::size_t count_;
};

// A line of /proc/self/status in KiB ("VmHWM", "VmRSS", "VmPTE"), 0 where there is none.
std::size_t status_kib(const char* field);
// Rss of /proc/self/smaps_rollup in KiB: counted page by page, where VmRSS may lag behind by some
// hundred KiB. VmRSS where there is no such file.
std::size_t resident_kib();

// Resident memory beyond what the process had when this was made, the harness's arrays left out.
class resident_growth {
 public:
  resident_growth();
  double now_bytes() const;
  // The highest since the process began (VmHWM).
  double peak_bytes() const;

 private:
  double base_bytes_;
};

}  // namespace bench
