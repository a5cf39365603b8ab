// bench/in_process/limits.cpp: the least that allocating a block can cost; nothing is checked or counted.
#include <cstddef>

#include "patterns.hpp"
#include "rows.hpp"

namespace pools_bench {
namespace {

/// A list through the free blocks, which are an array. What one writes by hand.
template <std::size_t count>
class intrusive_list {
 public:
  intrusive_list() {
    for (std::size_t i = count; i-- > 0;) deallocate(&slots_[i]);
  }
  void* allocate() {
    slot* const s = free_;
    if (s != nullptr) free_ = s->next;
    return s;
  }
  void deallocate(void* p) {
    slot* const s = static_cast<slot*>(p);
    s->next = free_;
    free_ = s;
  }

 private:
  union slot {
    slot* next;
    object used;
  };
  slot* free_ = nullptr;
  slot slots_[count];
};

/// The free blocks' addresses in an array of their own: no free block is read or written.
template <std::size_t count>
class address_stack {
 public:
  address_stack() {
    for (std::size_t i = count; i-- > 0;) deallocate(&objects_[i]);
  }
  void* allocate() { return top_ != 0 ? free_[--top_] : nullptr; }
  void deallocate(void* p) { free_[top_++] = p; }

 private:
  std::size_t top_ = 0;
  void* free_[count];
  object objects_[count];
};

template <std::size_t count>
class bump_pointer {
 public:
  void* allocate() { return next_ != objects_ + count ? next_++ : nullptr; }
  void deallocate(void*) {}
  void reset() { next_ = objects_; }

 private:
  object* next_ = objects_;
  object objects_[count];
};

}  // namespace

void add_limits() {
  add_row<intrusive_list>("limit: intrusive list");
  add_row<address_stack>("limit: stack of addresses");
  add_row<bump_pointer>("limit: bump pointer (reset)");
}

}  // namespace pools_bench
