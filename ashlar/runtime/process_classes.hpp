// runtime/process_classes.hpp: the process heap's size classes.
// Layer: runtime.
//
// In the library that programs are linked with they are constants, since its inlined faces fold them into the program.
// In the drop-in library nobody outside knows them, so they may be loaded: ASHLAR_CONFIG names a file (heap/class_file.hpp).
// A build for one program has its own constants: <ashlar/runtime/tuned_classes.hpp>, which is there when CMake was told of one
// (-DASHLAR_CLASSES=FILE), and is installed with the other headers, so that library and faces agree.
#pragma once

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

/// The built-in classes until others are loaded.
extern constinit detail::class_table loaded_classes;

struct loadable_process_classes : detail::classes_in<loaded_classes> {
  /// Effects: loads the file that ASHLAR_CONFIG names, if it is set. Only the first call does so: the heap calls this
  /// before it starts, and so does the reserve.
  static void load() noexcept;
  /// Effects: makes the classes those of the file at `path`. If the file cannot be used, one line on standard error
  /// says why, and the classes stay. Requires: no heap uses them yet.
  static void load_file(const char* path) noexcept;
};

using process_classes = std::conditional_t<classes_are_loadable, loadable_process_classes,
                                           detail::classes_in<built_in_classes>>;

}  // namespace ashlar::runtime
