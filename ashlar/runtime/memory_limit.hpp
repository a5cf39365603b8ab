// runtime/memory_limit.hpp: a bound on what a heap holds, and what happens at it.
// Layer: runtime.
//
//   below the soft limit   nothing
//   it is crossed          the next call that misses gives free pages back; where that is not
//                          enough, the program's function is called, and what it freed goes back
//   at the limit           the heap gives all back that is free (heap/shared_heap.hpp); the
//                          program's function is called; then the request gets null, or the
//                          process ends
//
// The bound is of committed bytes: pages in use, and free ones that keep their memory. The heap
// compares where it grows (pages/page_supply.hpp), so hits pay nothing, and a miss looks at one
// flag. Not counted: the heap's own tables, guarded blocks, samples, the reserve that serves beside
// a fork, and heap instances whose source is the system.
// A heap instance's budget is such a bound, with an answer of its own (instance/heap_body.cpp).
// Thread-safety: any caller at any time. The program's function is called with no lock held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/core/config.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar::runtime {

/// Effects: `bytes` is the bound that `text` gives: a number of bytes with or without a unit, a
/// percentage of what the process's control group may have, or 0: none. Returns: null; else
/// `bytes` is as it was, and this is what was expected. `root` is as for os::memory_group.
[[nodiscard]] const char* parse_limit(const char* text, std::uint64_t& bytes,
                                      const char* root = "") noexcept;

/// Effects: the tag of that name has that limit from now on (memory_limit::note_tag), 0: none. In
/// the drop-in library. Returns: 0, or the error's number: EINVAL (no tag has such a name, or there
/// are too many), ENOMEM.
[[nodiscard]] int limit_tag(std::string_view name, std::uint64_t bytes) noexcept;

/// The program's function for one heap's limit.
class limit_answer {
 public:
  using function = void (*)(std::size_t bytes_to_drop, void* argument);

  constexpr limit_answer() noexcept = default;
  limit_answer(const limit_answer&) = delete;
  limit_answer& operator=(const limit_answer&) = delete;

  /// Effects: `call`, null: nothing, is called with `argument`. Requires: one thread at a time.
  void set(function call, void* argument) noexcept;
  /// Effects: the function runs, if there is one. Returns: whether it did. Requires: no lock of a
  /// heap is held, and !is_in_between().
  [[nodiscard]] bool run(std::size_t bytes_to_drop) const noexcept;

 private:
  std::atomic<function> function_{nullptr};
  std::atomic<void*> argument_{nullptr};
};

/// Returns: whether the calling thread is in a place where the program's function must not run, nor
/// the process end: in that function, in the source of a heap instance, which is asked under that
/// heap's locks, or in a handler that interrupted a call of the heap.
[[nodiscard]] bool is_in_between() noexcept;

/// Effects: ends the process as by a fault, in one line that names what holds most: at the limit
/// of the process, or at the budget of the heap instance whose `checks` are given. `now` is of that
/// heap, `pool` its name or null.
[[noreturn]] ASHLAR_COLD void end_at_limit(std::size_t size, const char* call,
                                           const ashlar_stats& now, const char* pool = nullptr,
                                           detail::full_check* checks = nullptr) noexcept;

class memory_limit {
 public:
  using function = limit_answer::function;

  constexpr memory_limit() noexcept = default;
  memory_limit(const memory_limit&) = delete;
  memory_limit& operator=(const memory_limit&) = delete;

  /// Effects: from now on the heap holds no more than `bytes`, 0: as much as there is. Where it
  /// holds more, what is free goes back now; if that is not enough, one line on standard error says
  /// so.
  void set(std::uint64_t bytes) noexcept;

  /// Effects: `call`, null: nothing, is called with `argument` from `percent` of the limit on, 0:
  /// as usual. Requires: percent <= 100; one thread at a time.
  void call_back(function call, void* argument, unsigned percent) noexcept;

  /// Effects: the process ends where a request would get null because of the limit.
  void end_at_refusals() noexcept { ends_.store(true, std::memory_order_relaxed); }

  /// Effects: if the soft limit was crossed: gives back, calls back. Called by misses. Requires: no
  /// lock of the heap is held.
  ASHLAR_HOT void note_miss() noexcept {
    if (the_heap.supply().has_crossed()) [[unlikely]]
      cross();
  }

  /// Effects: if what lives of the tag with that number, which was sampled, came above the tag's
  /// limit: one line on standard error, and the program's function is called. In the drop-in
  /// library. Requires: as note_miss.
  void note_tag(unsigned tag) noexcept;

  [[nodiscard]] bool is_set() const noexcept { return bytes_.load(std::memory_order_relaxed) != 0; }
  /// Effects: called when a request for `size` got null: if the limit is why, the program's
  /// function makes room. Returns: whether to try once more. Requires: as note_miss.
  [[nodiscard]] bool make_room(std::size_t size) noexcept;
  /// Effects: called when a request of `call` gets null for good: if the limit is why, it is
  /// counted, or the process ends; in the source of a heap instance, that heap learns of it.
  /// Requires: as note_miss.
  void refuse(std::size_t size, const char* call) noexcept;

 private:
  void apply() noexcept;
  ASHLAR_COLD void cross() noexcept;
  /// Returns: whether there is such a function, and it was called.
  bool call_program(std::size_t bytes_to_drop) noexcept;

  static constexpr unsigned usual_percent = 80;

  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<unsigned> soft_percent_{usual_percent};
  limit_answer answer_;
  std::atomic<bool> ends_{false};
};

extern memory_limit the_limit;

}  // namespace ashlar::runtime
