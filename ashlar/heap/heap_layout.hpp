// heap/heap_layout.hpp: fills in the description of a heap's layout (core/heap_image.hpp).
// Layer: heap.
//
// Every number comes from the structures themselves, so none can differ from them. The structures
// name this one as their friend, since most members are private.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/heap_image.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/thread_cache.hpp>
#include <ashlar/pages/page_range.hpp>
#include <ashlar/pages/range_set.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

// The structures have bases and private members, but no virtual ones: gcc and clang know their
// offsets.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
// NOLINTBEGIN(bugprone-macro-parentheses): of types and members
#define ASHLAR_PART(type, member)                                               \
  ::ashlar::detail::image_part {                                                \
    static_cast<std::uint32_t>(offsetof(type, member)),                         \
        static_cast<std::uint32_t>(sizeof(static_cast<type*>(nullptr)->member)) \
  }
#define ASHLAR_TABLE(type, member)                                           \
  ::ashlar::detail::image_table {                                            \
    ASHLAR_PART(type, member.entries_), ASHLAR_PART(type, member.committed_) \
  }
// NOLINTEND(bugprone-macro-parentheses)

struct heap_layout {
  /// What is not the same of all heaps of a type.
  struct heaps {
    const void* heap = nullptr;
    const void* list = nullptr;
    const void* classes = nullptr;
    const void* hardened = nullptr;
    image_part list_next{};
    image_part list_heap{};
  };

  /// Returns: the layout of heaps of the type `Heap`, which are where `which` says.
  template <class Heap>
  [[nodiscard]] static constexpr heap_image of(const heaps& which) noexcept {
    using central_type = typename Heap::centrals_type::central_type;
    using space = sealable<typename Heap::space_type>;
    heap_image image{};
    for (std::size_t i = 0; i < sizeof image.magic; ++i)
      image.magic[i] = heap_image::right_magic[i];
    image.version = heap_image::current_version;
    image.bytes = sizeof image;
    image.heap = which.heap;
    image.list = which.list;
    image.classes = which.classes;
    image.hardened = which.hardened;
    image.list_next = which.list_next;
    image.list_heap = which.list_heap;

    image.page_shift = page_shift;
    image.mark_shift_min = mark_shift_min;
    image.ranges_max = ranges_max_of<space>;
    image.kind_slab = static_cast<std::uint32_t>(run_kind::slab);
    image.kind_large = static_cast<std::uint32_t>(run_kind::large);
    image.kinds = static_cast<std::uint32_t>(run_kind::lost) + 1;
    image.class_max = class_count;
    image.cache_bytes = sizeof(thread_cache);
    image.range_bytes = sizeof(page_range);
    image.run_bytes = sizeof(run);
    image.shape_bytes = sizeof(slab_shape);
    image.central_bytes = sizeof(central_type);
    image.stash_bytes = sizeof(typename central_type::side_type);
    image.stashes = central_type::sides;

    image.of_heap = {
        .started = ASHLAR_PART(Heap, started_),
        .name = ASHLAR_PART(Heap, pages_.name_),
        .range_count = ASHLAR_PART(Heap, pages_.large_.supply_.runs_.ranges_.count_),
        .first_range = ASHLAR_PART(Heap, pages_.large_.supply_.runs_.ranges_.first_),
        .later_ranges = ASHLAR_PART(Heap, pages_.large_.supply_.runs_.ranges_.later_),
        .key_secret = ASHLAR_PART(Heap, pages_.keys_.secret_),
        .keys_in_use = ASHLAR_PART(Heap, pages_.keys_.in_use_),
        .centrals = ASHLAR_PART(Heap, centrals_.centrals_),
        .stashes = ASHLAR_PART(Heap, pages_.slots_.entries_),
        .caches_owned = ASHLAR_PART(Heap, caches_.owned_),
        .caches_spare = ASHLAR_PART(Heap, caches_.spare_),
    };
    image.of_range = {
        .base = ASHLAR_PART(page_range, base),
        .pages = ASHLAR_PART(page_range, pages),
        .top = ASHLAR_PART(page_range, top),
        .commit_end = ASHLAR_PART(page_range, commit_end),
        .marks_origin = ASHLAR_PART(page_range, tables.origin),
        .marks = ASHLAR_PART(page_range, tables.marks),
        .class_of = ASHLAR_TABLE(page_range, class_of),
        .run_of = ASHLAR_TABLE(page_range, run_of),
        .runs = ASHLAR_TABLE(page_range, runs),
        .bits = ASHLAR_TABLE(page_range, bits),
        .slack = ASHLAR_TABLE(page_range, slack),
        .mark_tables = {ASHLAR_TABLE(page_range, marks[0]), ASHLAR_TABLE(page_range, marks[1]),
                        ASHLAR_TABLE(page_range, marks[2]), ASHLAR_TABLE(page_range, marks[3])},
    };
    static_assert(mark_shift_max - mark_shift_min + 1 == 4, "as many tables of marks");
    image.of_run = {
        .first = ASHLAR_PART(run, first),
        .pages = ASHLAR_PART(run, pages),
        .free_bits = ASHLAR_PART(run, free_bits),
        .free_blocks = ASHLAR_PART(run, free_blocks),
        .kind = ASHLAR_PART(run, kind),
        .size_class = ASHLAR_PART(run, size_class),
        .range = ASHLAR_PART(run, range),
    };
    image.of_classes = {
        .count = ASHLAR_PART(class_table, count),
        .shapes = ASHLAR_PART(class_table, shapes),
        .mark_shifts = ASHLAR_PART(class_table, mark_shifts),
    };
    image.of_shape = {
        .block_size = ASHLAR_PART(slab_shape, block_size),
        .pages = ASHLAR_PART(slab_shape, pages),
        .blocks = ASHLAR_PART(slab_shape, blocks),
        .words = ASHLAR_PART(slab_shape, words),
    };
    image.of_central = {.stashes = ASHLAR_PART(central_type, sides_[0].stash)};
    image.of_stash = {
        .slots = ASHLAR_PART(block_stash, slots_),
        .count = ASHLAR_PART(block_stash, count_),
        .capacity = ASHLAR_PART(block_stash, capacity_),
    };
    image.of_cache = {
        .next = ASHLAR_PART(thread_cache, next),
        .bottom_slot = ASHLAR_PART(thread_cache, bottom_slot),
        .capacity = ASHLAR_PART(thread_cache, capacity),
        .slots = ASHLAR_PART(thread_cache, slots),
        .top = ASHLAR_PART(thread_cache, tops.top),
    };
    return image;
  }
};

#pragma GCC diagnostic pop

}  // namespace ashlar::detail
