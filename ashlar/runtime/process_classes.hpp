// runtime/process_classes.hpp: the process heap's size classes.
// Layer: runtime.
//
// Constants in the library, since its inlined faces fold them into the program. The drop-in may
// load others: ASHLAR_CONFIG names a file (heap/class_file.hpp). A build for one program has its
// own constants (-DASHLAR_CLASSES=FILE): <ashlar/runtime/tuned_classes.hpp>, installed with the
// other headers.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>
#if __has_include(<ashlar/runtime/tuned_classes.hpp>)
#include <ashlar/runtime/tuned_classes.hpp>
#endif

#include <ashlar/core/config.hpp>
#include <ashlar/heap/class_table.hpp>

namespace ashlar::runtime {

#if __has_include(<ashlar/runtime/tuned_classes.hpp>)
static_assert(
    [] {
      std::size_t at = 0;
      return detail::what_is_wrong_with(tuned::block_sizes, at) == nullptr;
    }(),
    "tuned_classes.hpp has block sizes that no heap can have (heap/class_table.hpp): tune again");
inline constexpr detail::class_table built_in_classes =
    detail::make_class_table(tuned::block_sizes);
#else
inline constexpr const detail::class_table& built_in_classes = detail::standard_classes;
#endif

/// The built-in classes until others are loaded: in the drop-in alone (dropin/load_classes.cpp).
extern constinit detail::class_table loaded_classes;
/// A copy of them from the first time on that hits are diverted.
extern constinit detail::class_table undiverted_classes;

/// Hits and misses ask for the class of a size in two ways. While hits are diverted, they are told
/// class 0, whose stack is always empty, and realloc that no block can stay: each allocation misses
/// then, in every thread, from that moment on. Frees do not ask, and go on hitting. Misses are told
/// the true classes.
/// Where reading it takes no further instruction, the end of hits is 0 then, which stops them
/// earlier. Hits read the table as plain bytes: an atomic read costs realloc's hit two
/// instructions. A byte is written at once, and either value is right.
struct loadable_process_classes : detail::classes_in<loaded_classes> {
  /// For misses: as that of classes_in.
  [[nodiscard]] static class_index class_for(std::size_t size, std::size_t alignment) noexcept {
    return detail::class_table::serves(size, alignment)
               ? of_misses().of_aligned_size(size, alignment)
               : class_index{0};
  }
  [[nodiscard]] ASHLAR_HOT static std::size_t hit_end() noexcept {
    return adds_in_memory ? loaded_classes.hit_end : classes_in::hit_end();
  }
  [[nodiscard]] ASHLAR_HOT static const detail::class_table& of_misses() noexcept {
    return *true_classes.load(std::memory_order_acquire);
  }
  /// Effects: diverts hits, or ends that. Other threads see it soon. Requires: the heap has
  /// started; one caller at a time.
  static void divert_hits(bool on) noexcept;

  /// Effects: loads the file that ASHLAR_CONFIG names, if it is set. Only the first call does so:
  /// the heap calls this before it starts, and so does the reserve.
  static void load() noexcept;
  /// Effects: makes the classes those of the file at `path`. If the file cannot be used, one line
  /// on standard error says why, and the classes stay. Requires: no heap uses them yet.
  static void load_file(const char* path) noexcept;

 private:
  static std::atomic<const detail::class_table*> true_classes;
};

/// The hits of a miss: the true classes, whatever hits are told. Requires: hits were diverted once.
struct classes_of_misses : loadable_process_classes {
  [[nodiscard]] ASHLAR_HOT static class_index of_size(std::size_t size) noexcept {
    return undiverted_classes.of_size(size);
  }
  [[nodiscard]] ASHLAR_HOT static std::size_t kept_size(class_index c) noexcept {
    return undiverted_classes.kept_sizes[std::size_t{c}];
  }
  [[nodiscard]] ASHLAR_HOT static constexpr std::size_t hit_end() noexcept {
    return classes_in::hit_end();
  }
};

using process_classes = std::conditional_t<classes_are_loadable, loadable_process_classes,
                                           detail::classes_in<built_in_classes>>;

}  // namespace ashlar::runtime
