// runtime/process_image.cpp: the process heap itself, and the descriptions of it and of what looks
// at its blocks, for who reads a core file. Layer: runtime.
//
// The heap stands here so that every program that has it has the description, too: a linker takes
// both from libashlar.a, or neither.
#include <cstddef>

#include <ashlar/check/watch_layout.hpp>
#include <ashlar/heap/heap_layout.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/process_thread.hpp>
#include <ashlar/runtime/reserve_heap.hpp>
#include <ashlar/runtime/sampling.hpp>

namespace ashlar::runtime {

constinit process_heap the_heap;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
struct process_layout {
  [[nodiscard]] static constexpr detail::heap_layout::heaps heaps() noexcept {
    return {.heap = &the_heap,
            .list = &reserve.newest_,
            .classes = &process_classes::table(),
            .hardened = &stays_hardened,
            .list_next = ASHLAR_PART(reserve_heap::generation, older),
            .list_heap = ASHLAR_PART(reserve_heap::generation, heap)};
  }
};
#pragma GCC diagnostic pop

/// Returns: what is sampled; null outside of the drop-in library.
[[nodiscard]] constexpr const detail::sampled_blocks* samples_of_process() noexcept {
  if constexpr (is_drop_in)
    return &samples;
  else
    return nullptr;
}

}  // namespace ashlar::runtime

// By a name of C, which the note can spell. The program that it is linked into sees neither.
extern "C" {
[[gnu::visibility("hidden")]] extern const ashlar::detail::heap_image ashlar_process_image;
[[gnu::used]] constinit const ashlar::detail::heap_image ashlar_process_image =
    ashlar::detail::heap_layout::of<ashlar::runtime::process_heap>(
        ashlar::runtime::process_layout::heaps());
[[gnu::visibility("hidden")]] extern const ashlar::detail::watch_image ashlar_watch_image;
[[gnu::used]] constinit const ashlar::detail::watch_image ashlar_watch_image =
    ashlar::detail::watch_layout::of(&ashlar::runtime::the_watch,
                                     ashlar::runtime::samples_of_process());
}
ASHLAR_ELF_NOTE_TO(ASHLAR_NOTE_HEAP, "ashlar_process_image");
ASHLAR_ELF_NOTE_TO(ASHLAR_NOTE_WATCH, "ashlar_watch_image");
