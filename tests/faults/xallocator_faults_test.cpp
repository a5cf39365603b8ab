// The known faults of the classic xallocator. Each test: a model of ours that has the fault, and a
// probe that is false on the model and true on xallocator.h, on the process heap and on static pools.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <tests/support/in_child.hpp>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/adapt/c_api.h>
#include <ashlar/compat/xmalloc_pools.hpp>

#include "xallocator.h"

namespace {

// ---- the faces that a probe looks at ------------------------------------------------------------

/// xallocator.h on the process heap.
struct process_face {
  void* allocate(std::size_t n) { return xmalloc(n); }
  void deallocate(void* p) { xfree(p); }
};

/// xallocator.h on the pools that a program declares.
template <class... BlocksAndPolicies>
struct pools_face {
  void* allocate(std::size_t n) { return pools.allocate(n); }
  void deallocate(void* p) { pools.deallocate(p); }
  ashlar::static_xmalloc<BlocksAndPolicies...> pools;
};

// ---- static pools as arrays of pointers ---------------------------------------------------------

template <std::size_t Size, std::size_t Count>
struct array_of_pointers {
  char* memory[Size * Count];  // one pointer too many in the declaration: char* for char
};

/// Whether `Storage` takes what its blocks take, and a fifth for everything else.
template <class Storage>
constexpr bool takes_what_its_blocks_take(std::size_t block_bytes) {
  return sizeof(Storage) >= block_bytes && sizeof(Storage) <= block_bytes + block_bytes / 5;
}

TEST(XallocatorFaults, static_pools_are_arrays_of_pointers) {
  using ashlar::blocks;
  constexpr std::size_t bytes = 396 * 32;
  EXPECT_FALSE((takes_what_its_blocks_take<array_of_pointers<396, 32>>(bytes)));
  EXPECT_TRUE((takes_what_its_blocks_take<pools_face<blocks<396, 32>>>(bytes)));
  constexpr std::size_t all = 20 * 396 + 10 * 768 + 32 * 4096;
  EXPECT_TRUE(
      (takes_what_its_blocks_take<pools_face<blocks<396, 20>, blocks<768, 10>, blocks<4096, 32>>>(
          all)));
}

// ---- the hidden header --------------------------------------------------------------------------

/// Blocks of 396 bytes side by side, and a pointer's worth of header in front of what the caller gets.
class hidden_header {
 public:
  void* allocate(std::size_t) { return memory_ + 396 * used_++ + sizeof(void*); }
  void deallocate(void*) {}

 private:
  alignas(16) unsigned char memory_[396 * 20];
  std::size_t used_ = 0;
};

/// Whether 20 blocks of 384 bytes are aligned for any object.
template <class Face>
bool aligns_for_any_object() {
  static Face face;
  void* held[20];
  bool aligned = true;
  for (void*& p : held) {
    p = face.allocate(384);
    aligned = aligned && p != nullptr && reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
  }
  for (void* p : held) face.deallocate(p);
  return aligned;
}

TEST(XallocatorFaults, a_hidden_header_and_a_size_of_396_misalign_blocks) {
  EXPECT_FALSE(aligns_for_any_object<hidden_header>());
  EXPECT_TRUE(aligns_for_any_object<process_face>());
  EXPECT_TRUE((aligns_for_any_object<pools_face<ashlar::blocks<396, 20>>>()));
}

// ---- the size and its header --------------------------------------------------------------------

struct wrapping_size {
  void* allocate(std::size_t n) { return std::malloc(n + sizeof(void*)); }
  void deallocate(void* p) { std::free(p); }
};

template <class Face>
bool refuses_what_no_memory_holds() {
  static Face face;
  for (std::size_t less = 0; less < 64; ++less) {
    volatile std::size_t wanted = SIZE_MAX - less;
    void* const p = face.allocate(wanted);
    face.deallocate(p);
    if (p != nullptr) return false;
  }
  return true;
}

TEST(XallocatorFaults, size_and_header_wrap_around) {
  EXPECT_FALSE(refuses_what_no_memory_holds<wrapping_size>());
  EXPECT_TRUE(refuses_what_no_memory_holds<process_face>());
  EXPECT_TRUE((refuses_what_no_memory_holds<pools_face<ashlar::blocks<64, 4>>>()));
}

// ---- the sixteenth size -------------------------------------------------------------------------

/// A table of 15 allocators; one that finds no room there is forgotten, and made anew at each call.
class fifteen_allocators {
 public:
  void* allocate(std::size_t n) {
    if (known_.count(n) == 0) {
      ++made_;
      if (known_.size() < 15) known_.insert(n);
    }
    return std::malloc(n);
  }
  void deallocate(void* p) { std::free(p); }
  [[nodiscard]] std::size_t held() const { return made_; }

 private:
  std::set<std::size_t> known_;
  std::size_t made_ = 0;
};
struct measured_process_face : process_face {
  [[nodiscard]] std::size_t held() const {
    ashlar_stats stats;
    ashlar_stats_get(&stats);
    return stats.total.committed_bytes + stats.total.metadata_bytes;
  }
};

/// Whether allocating and freeing 20 sizes again and again takes no more than doing it once.
template <class Face>
bool twenty_sizes_cost_what_they_cost_once() {
  static Face face;
  std::size_t after_one = 0;
  for (int round = 0; round < 100; ++round) {
    for (std::size_t size = 32; size <= 640; size += 32) {
      void* const p = face.allocate(size);
      if (p == nullptr) return false;
      face.deallocate(p);
    }
    if (round == 0) after_one = face.held();
  }
  return face.held() == after_one;
}

TEST(XallocatorFaults, a_sixteenth_size_leaks_an_allocator_at_each_call) {
  EXPECT_FALSE(twenty_sizes_cost_what_they_cost_once<fifteen_allocators>());
  EXPECT_TRUE(twenty_sizes_cost_what_they_cost_once<measured_process_face>());
}

TEST(XallocatorFaults, a_set_may_have_more_than_fifteen_sizes) {
  using ashlar::blocks;
  using many = pools_face<blocks<16, 1>, blocks<32, 1>, blocks<48, 1>, blocks<64, 1>, blocks<80, 1>,
                          blocks<96, 1>, blocks<112, 1>, blocks<128, 1>, blocks<144, 1>,
                          blocks<160, 1>, blocks<176, 1>, blocks<192, 1>, blocks<208, 1>,
                          blocks<224, 1>, blocks<240, 1>, blocks<256, 1>, blocks<272, 1>>;
  static many face;
  for (std::size_t size = 16; size <= 272; size += 16) {
    void* const p = face.allocate(size);
    ASSERT_NE(p, nullptr) << size;
    EXPECT_EQ(face.pools.usable_size(p), size);
  }
}

// ---- exhaustion ---------------------------------------------------------------------------------

// The handlers below give a block back to the face under test, as a program that drops a cache does.
void* spare = nullptr;
void (*free_spare)(void*) = nullptr;
void drop_spare() {
  void* const p = spare;
  spare = nullptr;
  if (p == nullptr) std::set_new_handler(nullptr);
  free_spare(p);
}
void throw_bad_alloc() {
  throw std::bad_alloc();
}

constexpr std::size_t few = 4;

/// Four blocks; what a model does when there is none is up to it.
class four_blocks {
 protected:
  void* pop() {
    for (std::size_t i = 0; i < few; ++i) {
      if (!used_[i]) {
        used_[i] = true;
        return memory_[i];
      }
    }
    return nullptr;
  }
  void push(void* p) {
    for (std::size_t i = 0; i < few; ++i) {
      if (p == memory_[i]) used_[i] = false;
    }
  }

 private:
  alignas(16) unsigned char memory_[few][64];
  bool used_[few] = {};
};

/// Calls the handler while it holds its lock, and tries again correctly.
struct handler_under_the_lock : four_blocks {
  void* allocate(std::size_t) {
    const std::lock_guard guard(mutex);
    void* p = pop();
    while (p == nullptr) {
      const std::new_handler handler = std::get_new_handler();
      if (handler == nullptr) return nullptr;
      handler();
      p = pop();
    }
    return p;
  }
  void deallocate(void* p) {
    const std::lock_guard guard(mutex);
    push(p);
  }
  std::mutex mutex;
};

/// Calls the handler once, with no lock, and does not look again.
struct handler_without_retry : four_blocks {
  void* allocate(std::size_t) {
    void* const p = pop();
    const std::new_handler handler = std::get_new_handler();
    if (p == nullptr && handler != nullptr) handler();
    return p;
  }
  void deallocate(void* p) { push(p); }
};

/// Locks and unlocks by hand: a throw passes the unlock by.
struct unlock_by_hand : four_blocks {
  void* allocate(std::size_t) {
    mutex.lock();
    void* const p = pop();
    if (p == nullptr) {
      const std::new_handler handler = std::get_new_handler();
      if (handler != nullptr) handler();
    }
    mutex.unlock();
    return p;
  }
  void deallocate(void* p) {
    mutex.lock();
    push(p);
    mutex.unlock();
  }
  std::mutex mutex;
};

/// Writes its owner into the block, whether there is one or not.
struct header_through_null : four_blocks {
  void* allocate(std::size_t) {
    void* volatile p = pop();
    *static_cast<void* volatile*>(p) = this;
    return p;
  }
  void deallocate(void* p) { push(p); }
};

using four_in_a_pool = pools_face<ashlar::blocks<64, few>, ashlar::exhaustion::handler_and_retry<>>;

template <class Face>
Face& exhausted_face() {
  static Face face;
  for (std::size_t i = 0; i < few; ++i) spare = face.allocate(64);
  return face;
}

/// Whether an allocation gets the block that the handler frees.
template <class Face>
bool handler_may_free() {
  Face& face = exhausted_face<Face>();
  static Face* const the_face = &face;
  free_spare = [](void* p) { the_face->deallocate(p); };
  void* const freed = spare;
  std::set_new_handler(drop_spare);
  return face.allocate(64) == freed;
}

TEST(XallocatorFaults, the_handler_runs_under_a_lock_that_it_needs) {
  EXPECT_TRUE(support::in_child(handler_may_free<handler_under_the_lock>, 1).hung());
  EXPECT_TRUE(support::holds_in_child(handler_may_free<four_in_a_pool>));
}

TEST(XallocatorFaults, the_handler_is_called_once_and_nothing_is_tried_again) {
  EXPECT_FALSE(support::holds_in_child(handler_may_free<handler_without_retry>));
  EXPECT_TRUE(support::holds_in_child(handler_may_free<four_in_a_pool>));
}

/// Whether a face whose handler throws can still be used.
template <class Face>
bool usable_after_a_throw() {
  Face& face = exhausted_face<Face>();
  std::set_new_handler(throw_bad_alloc);
  try {
    if (face.allocate(64) != nullptr) return false;
  } catch (const std::bad_alloc&) {
  }
  face.deallocate(spare);
  return face.allocate(64) == spare;
}

TEST(XallocatorFaults, a_throw_leaves_the_mutex_held) {
  EXPECT_TRUE(support::in_child(usable_after_a_throw<unlock_by_hand>, 1).hung());
  EXPECT_TRUE(support::holds_in_child(usable_after_a_throw<four_in_a_pool>));
}

/// Whether exhaustion without a handler is null and nothing worse.
template <class Face>
bool exhaustion_is_null() {
  Face& face = exhausted_face<Face>();
  std::set_new_handler(nullptr);
  return face.allocate(64) == nullptr;
}

TEST(XallocatorFaults, the_header_is_written_through_null) {
  EXPECT_FALSE(support::holds_in_child(exhaustion_is_null<header_through_null>));
  EXPECT_TRUE(support::holds_in_child(exhaustion_is_null<four_in_a_pool>));
  EXPECT_TRUE(support::holds_in_child(exhaustion_is_null<pools_face<ashlar::blocks<64, few>>>));
}

// ---- the operators of a class -------------------------------------------------------------------

/// What the classic macro declares: the two plain pairs.
struct plain_pairs {
  static void* operator new(std::size_t n) { return std::malloc(n); }
  static void operator delete(void* p) { std::free(p); }
  static void* operator new[](std::size_t n) { return std::malloc(n); }
  static void operator delete[](void* p) { std::free(p); }
};
struct with_macro {
  XALLOCATOR
};

template <class T>
concept has_plain = requires(std::size_t n, void* p) {
  T::operator new(n);
  T::operator new[](n);
  T::operator delete(p);
  T::operator delete[](p);
};
template <class T>
concept has_aligned = requires(std::size_t n, void* p, std::align_val_t a) {
  T::operator new(n, a);
  T::operator new[](n, a);
  T::operator delete(p, a);
  T::operator delete[](p, a);
};
template <class T>
concept has_sized = requires(std::size_t n, void* p) {
  T::operator delete(p, n);
  T::operator delete[](p, n);
};
template <class T>
concept has_placement = requires(std::size_t n, void* p) {
  T::operator new(n, p);
  T::operator new[](n, p);
  T::operator delete(p, p);
  T::operator delete[](p, p);
};
template <class T>
concept has_nothrow = requires(std::size_t n, void* p) {
  T::operator new(n, std::nothrow);
  T::operator new[](n, std::nothrow);
  T::operator delete(p, std::nothrow);
  T::operator delete[](p, std::nothrow);
};

TEST(XallocatorFaults, the_macro_lacks_forms) {
  EXPECT_TRUE(has_plain<plain_pairs> && has_plain<with_macro>);
  EXPECT_FALSE(has_aligned<plain_pairs>);
  EXPECT_TRUE(has_aligned<with_macro>);
  EXPECT_FALSE(has_sized<plain_pairs>);
  EXPECT_TRUE(has_sized<with_macro>);
  EXPECT_FALSE(has_placement<plain_pairs>);
  EXPECT_TRUE(has_placement<with_macro>);
  EXPECT_FALSE(has_nothrow<plain_pairs>);
  EXPECT_TRUE(has_nothrow<with_macro>);
}

/// A nothrow form that asks what throws.
struct nothrow_throws {
  static void* operator new(std::size_t, const std::nothrow_t&) { throw std::bad_alloc(); }
  static void operator delete(void*, const std::nothrow_t&) {}
  static void operator delete(void*) {}
};

template <class T>
bool nothrow_new_gives_null() {
  volatile std::size_t too_much = SIZE_MAX / 2;
  return T::operator new(too_much, std::nothrow) == nullptr;
}

TEST(XallocatorFaults, nothrow_new_throws) {
  EXPECT_FALSE(support::holds_in_child(nothrow_new_gives_null<nothrow_throws>));
  EXPECT_TRUE(support::holds_in_child(nothrow_new_gives_null<with_macro>));
  EXPECT_TRUE(noexcept(with_macro::operator new(1, std::nothrow)));
}

}  // namespace
