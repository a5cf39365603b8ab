// core/heap_image.hpp: what the library says of its own layout, for a command that reads a core
// file or a stopped process. Layer: core. docs/heap-image.md tells in words how a reader gets from
// it to the blocks.
//
//   ELF note (core/elf_note.hpp)  -->  heap_image  -->  heaps  -->  ranges  -->  runs  -->  blocks
//
// It is constant data: nothing that runs reads it, so it costs a program a few hundred bytes of its
// file.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/elf_note.hpp>

namespace ashlar::detail {

/// Where a member is in its structure, and how long it is.
struct image_part {
  std::uint32_t offset;
  std::uint32_t bytes;
};

/// A table that grows in place: the member that points to it, and the one that counts its bytes.
struct image_table {
  image_part entries;
  image_part committed;
};

/// The layout of the heaps of one library. Offsets in parts are bytes from the begin of the
/// structure that the comment names. A pointer is an address in the process.
struct heap_image {
  static constexpr std::uint32_t current_version = 3;
  static constexpr char right_magic[8] = {'a', 's', 'h', 'l', 'a', 'r', 'h', '1'};
  static constexpr std::uint32_t note_type = ASHLAR_NOTE_HEAP;

  char magic[8];
  std::uint32_t version;  ///< another one means that blocks are told by other rules
  std::uint32_t bytes;    ///< of this structure

  // Which heaps there are.
  const void* heap;      ///< one that is there from the start; null: none
  const void* list;      ///< a pointer to the first of others, which form a list; null: none
  const void* classes;   ///< the class table of all of them
  const void* hardened;  ///< a byte: whether each block has a canary; null: it never has
  image_part list_next;  ///< of an element of the list
  image_part list_heap;  ///< the same: its heap

  // Geometry.
  std::uint32_t page_shift;
  std::uint32_t mark_shift_min;
  std::uint32_t ranges_max;
  std::uint32_t kind_slab;   ///< of run_kind
  std::uint32_t kind_large;  ///< the same
  std::uint32_t kinds;       ///< all kinds are below it
  std::uint32_t class_max;   ///< all classes are below it
  std::uint32_t cache_bytes;
  std::uint32_t range_bytes;
  std::uint32_t run_bytes;
  std::uint32_t shape_bytes;
  std::uint32_t central_bytes;
  std::uint32_t stash_bytes;
  std::uint32_t stashes;  ///< of each central

  /// Of a heap.
  struct heap_parts {
    image_part started, name, range_count, first_range, later_ranges, key_secret, keys_in_use;
    image_part centrals, stashes;
    image_part caches_owned, caches_spare;
  } of_heap;
  /// Of a range.
  struct range_parts {
    image_part base, pages, top, commit_end, marks_origin, marks;
    image_table class_of, run_of, runs, bits, slack;
    image_table mark_tables[4];
  } of_range;
  /// Of a run's record.
  struct run_parts {
    image_part first, pages, free_bits, free_blocks, kind, size_class, range;
  } of_run;
  /// Of the class table.
  struct class_parts {
    image_part count, shapes, mark_shifts;
  } of_classes;
  /// Of a class's shape.
  struct shape_parts {
    image_part block_size, pages, blocks, words;
  } of_shape;
  /// Of a class's central.
  struct central_parts {
    image_part stashes;
  } of_central;
  /// Of a stash.
  struct stash_parts {
    image_part slots, count, capacity;
  } of_stash;
  /// Of a thread's cache.
  struct cache_parts {
    image_part next, bottom_slot, capacity, slots, top;
  } of_cache;
};

}  // namespace ashlar::detail
