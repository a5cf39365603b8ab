// adapt/asan_report.hpp: AddressSanitizer's reports tell of pools and arenas what they tell of
// malloc's blocks.
// Layer: adapt.
//
// Including this in one source file of the program (or more) switches it on. After a report about a
// byte of a component's memory come the block, the component's name, and who allocated and freed
// it:
//
//   ashlar: 0x7bfff5d09068 is 8 bytes inside the block of 64 bytes at 0x7bfff5d09060 of 'orders',
//   which is free
//   ashlar: allocated by thread T0:
//   ashlar:   #0 0x55d3ad39f9c1 in take_order orders.cpp:12
//   ...
//   ashlar: freed by thread T0:
//
// Blocks are remembered from the first on, those of constinit pools before main included, until
// their memory goes back. Price: some 400 bytes a block, and 300 ns each time that one is allocated
// or freed. Takes AddressSanitizer's one error report callback. Without AddressSanitizer this
// header is empty.
// Thread-safety: any thread; one lock.
#pragma once

#include <ashlar/core/address.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>

#if ASHLAR_ADDRESS_SANITIZER
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>

// The sanitizer's own interface.
extern "C" {
std::size_t __asan_get_alloc_stack(void* p, void** trace, std::size_t size, int* thread_id);
void* __asan_get_report_address();
void __asan_set_error_report_callback(void (*callback)(const char* report));
void __sanitizer_symbolize_pc(void* pc, const char* format, char* out, std::size_t out_size);
}

namespace ashlar::detail {

/// Memory of the sanitizer's malloc: operator new may be the program's own, over a pool.
template <class T>
struct listener_memory {
  using value_type = T;
  listener_memory() noexcept = default;
  template <class U>
  listener_memory(const listener_memory<U>&) noexcept {}  // NOLINT: as std::allocator
  [[nodiscard]] T* allocate(std::size_t n) {
    void* const p = std::malloc(n * sizeof(T));
    if (p == nullptr) std::abort();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) noexcept { std::free(p); }
  friend bool operator==(listener_memory, listener_memory) noexcept { return true; }
};

class asan_listener {
 public:
  asan_listener() noexcept { __asan_set_error_report_callback(&tell_of_report); }

  void hear(const block_event& event) noexcept {
    using kind = block_event::kind_type;
    stack here;
    if (event.kind == kind::made || event.kind == kind::freed || event.kind == kind::cut)
      here = stack_here();
    const std::lock_guard guard(mutex_);
    const key at{event.address, event.owner};
    switch (event.kind) {
      case kind::made:
        blocks_.insert_or_assign(at, block{event.bytes, event.owner_name, here, {}});
        break;
      case kind::freed:
        if (const auto found = blocks_.find(at); found != blocks_.end()) found->second.freed = here;
        break;
      case kind::resized:
        if (const auto found = blocks_.find(at); found != blocks_.end())
          found->second.bytes = event.bytes;
        break;
      case kind::moved:
        move(event.owner, event.address);
        break;
      case kind::cut:
        each_in(event, [&](auto found) {
          if (found->second.freed.depth == 0) found->second.freed = here;
          return std::next(found);
        });
        break;
      case kind::returned:
        each_in(event, [&](auto found) { return blocks_.erase(found); });
        break;
    }
  }

 private:
  struct stack {
    void* frames[16] = {};
    std::size_t depth = 0;  ///< 0: it did not happen
    int thread = 0;
  };
  struct block {
    std::size_t bytes;
    const char* owner_name;
    stack made;
    stack freed;
  };
  struct key {
    const void* address;
    const void* owner;
    friend bool operator<(key a, key b) noexcept {
      const std::less<> less;
      return a.address == b.address ? less(a.owner, b.owner) : less(a.address, b.address);
    }
  };
  using block_map = std::map<key, block, std::less<>, listener_memory<std::pair<const key, block>>>;

  /// The sanitizer gives no stack but those of its own blocks, so one of those is made. Its
  /// unwinder takes a tenth of the time of the C library's.
  [[nodiscard]] static stack stack_here() noexcept {
    stack here;
    void* const token = std::malloc(1);
    here.depth = __asan_get_alloc_stack(token, here.frames, std::size(here.frames), &here.thread);
    std::free(token);
    return here;
  }

  template <class Visit>
  void each_in(const block_event& event, Visit visit) noexcept {
    const auto* const end = static_cast<const std::byte*>(event.address) + event.bytes;
    auto at = blocks_.lower_bound(key{event.address, nullptr});
    while (at != blocks_.end() && std::less<>()(at->first.address, static_cast<const void*>(end))) {
      at = at->first.owner == event.owner ? visit(at) : std::next(at);
    }
  }
  void move(const void* from, const void* to) noexcept {
    for (auto at = blocks_.begin(); at != blocks_.end();) {
      const auto next = std::next(at);
      if (at->first.owner == from) {
        auto node = blocks_.extract(at);
        node.key().owner = to;
        blocks_.insert(std::move(node));
      }
      at = next;
    }
  }

  static void tell_of_report(const char*) noexcept { self().tell_of(__asan_get_report_address()); }

  void tell_of(const void* address) noexcept {
    const std::lock_guard guard(mutex_);
    // The block that begins last at or before the address: it is the innermost, and the one that
    // was overrun.
    auto at = blocks_.upper_bound(key{address, reinterpret_cast<const void*>(UINTPTR_MAX)});
    if (at == blocks_.begin()) return;
    --at;
    const block& b = at->second;
    const std::size_t offset = bytes_from(at->first.address, address);
    if (offset >= b.bytes + overrun_max) return;
    const bool inside = offset < b.bytes;
    std::fprintf(stderr, "ashlar: %p is %zu bytes %s the block of %zu bytes at %p", address,
                 inside ? offset : offset - b.bytes, inside ? "inside" : "past the end of", b.bytes,
                 at->first.address);
    if (b.owner_name != nullptr) std::fprintf(stderr, " of '%s'", b.owner_name);
    std::fprintf(stderr, "%s\n", b.freed.depth != 0 ? ", which is free" : "");
    tell("allocated", b.made);
    tell("freed", b.freed);
  }

  static void tell(const char* what, const stack& s) noexcept {
    if (s.depth == 0) return;
    std::fprintf(stderr, "ashlar: %s by thread T%d:\n", what, s.thread);
    unsigned number = 0;
    for (std::size_t i = 0; i < s.depth; ++i) {
      // One text for each function that was inlined there, each with its end, and an empty one
      // behind them.
      char texts[4096] = {};
      __sanitizer_symbolize_pc(s.frames[i], "%p %F %L", texts, sizeof(texts) - 2);
      for (const char* text = texts; *text != '\0'; text += std::strlen(text) + 1) {
        if (number != 0 || !is_own(text))
          std::fprintf(stderr, "ashlar:   #%u %s\n", number++, text);
      }
    }
  }
  /// Whether a frame is of malloc or of ashlar, where its text tells.
  [[nodiscard]] static bool is_own(const char* text) noexcept {
    for (const char* own : {" in malloc ", " in __interceptor_malloc ", "/ashlar/core/",
                            "/ashlar/pool/", "/ashlar/arena/", "/ashlar/adapt/"}) {
      if (std::strstr(text, own) != nullptr) return true;
    }
    return false;
  }

 public:
  /// Never destroyed: static pools outlive it otherwise.
  [[nodiscard]] static asan_listener& self() noexcept {
    static asan_listener* const the_one =
        ::new (listener_memory<asan_listener>().allocate(1)) asan_listener;
    return *the_one;
  }

 private:
  static constexpr std::size_t overrun_max = 4096;
  std::mutex mutex_;
  block_map blocks_;
};

}  // namespace ashlar::detail

extern "C" [[gnu::used]] inline void ashlar_block_event(const ashlar::block_event& event) noexcept {
  ashlar::detail::asan_listener::self().hear(event);
}
#endif
