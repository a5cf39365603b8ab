// tools/shim/import_slots.hpp: the second way into this library: the addresses through which the
// files of a process call functions of other files. Layer: shim.
//
// A library that was preloaded is called because the loader finds its functions first. One that was
// loaded later is not. So each file's slots that have the address of a function that is recorded get
// the address of ours, and have the former one again when the recording ends. A slot has 8 bytes and
// is written at once, so that other threads may call through it meanwhile.
#pragma once

#include <span>

namespace ashlar::shim {

/// A function that is recorded. `next` is its definition that the process has; null: it has none.
struct diverted_function {
  const char* name;
  void* ours;
  void* next;
};

/// Returns: every function that is recorded, by name.
[[nodiscard]] std::span<diverted_function> entry_points();

/// Returns: whether calls come to this library by themselves: the loader finds it first.
[[nodiscard]] bool is_interposed();

/// Effects: finds the definitions. Returns: false where one is missing without which there is no
/// heap.
bool find_definitions();
/// Returns: the definition of a function; null: there is none. Requires: find_definitions().
[[nodiscard]] void* definition_of(const char* name);

/// Effects: every file's calls come here, also those of files that the process loads later.
/// Requires: find_definitions().
void divert_slots();
/// Effects: they go to the definitions again.
void restore_slots();

}  // namespace ashlar::shim
