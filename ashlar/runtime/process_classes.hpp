// runtime/process_classes.hpp: the process heap's size classes.
// Layer: runtime.
//
// In the library that programs are linked with they are constants, since its inlined faces fold them into the program.
// In the drop-in library nobody outside knows them, so they may be loaded: ASHLAR_CONFIG names a file (class_file.hpp).
#pragma once

#include <type_traits>

#include <ashlar/core/config.hpp>
#include <ashlar/heap/class_table.hpp>

namespace ashlar::runtime {

/// The standard classes until others are loaded.
extern constinit detail::class_table loaded_classes;

struct loadable_process_classes : detail::classes_in<loaded_classes> {
  /// Effects: makes the classes those of the file that ASHLAR_CONFIG names, if it is set; else, or when that file cannot
  /// be used, which is reported in one line on standard error, they stay. Called by the heap, once, before it
  /// starts.
  static void load() noexcept;
};

using process_classes =
    std::conditional_t<classes_are_loadable, loadable_process_classes, detail::standard>;

}  // namespace ashlar::runtime
