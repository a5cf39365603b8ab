// core/watch_image.hpp: what the library says of the layout of its checks and samples, beside that
// of its heap (core/heap_image.hpp). Layer: core. docs/heap-image.md tells it in words.
//
//   ELF note (core/elf_note.hpp) --> watch_image --> heap_watch --> records of full checks
//                                               |              +--> slots of guarded blocks
//                                               +--> sampled_blocks --> samples --> call stacks
//
// It is constant data, as heap_image is.
#pragma once

#include <cstdint>

#include <ashlar/core/heap_image.hpp>

namespace ashlar::detail {

/// What is known of single blocks, and where. Parts, offsets and pointers are as in heap_image.
struct watch_image {
  static constexpr std::uint32_t current_version = 1;
  static constexpr char right_magic[8] = {'a', 's', 'h', 'l', 'a', 'r', 'w', '1'};
  static constexpr std::uint32_t note_type = ASHLAR_NOTE_WATCH;

  char magic[8];
  std::uint32_t version;
  std::uint32_t bytes;  ///< of this structure

  const void* watch;    ///< what looks at the process heap's calls
  const void* samples;  ///< what is sampled; null: nothing ever is

  std::uint32_t slot_bytes;    ///< of a guarded block's slot
  std::uint32_t record_bytes;  ///< of a record
  std::uint32_t chunk_bytes;   ///< what records are cut from; its first word leads to the next one
  std::uint32_t sample_buckets;

  /// Of what looks at the calls: `guards` is a pointer.
  struct watch_parts {
    image_part records, guards;
  } of_watch;
  /// Of the records of full checks: `buckets` is a table of `bucket_count` pointers to lists.
  struct records_parts {
    image_part buckets, bucket_count, chunks;
  } of_records;
  /// Of the guarded blocks: `used` slots from `begin` on, each with its record.
  struct guards_parts {
    image_part begin, reserved, used, records;
  } of_guards;
  /// Of a record: who made the block, and who freed it.
  struct record_parts {
    image_part address, size, block, made, freed, next;
  } of_record;
  /// Of a deed: `call` is a pointer to a text, null where nobody did it.
  struct deed_parts {
    image_part call, thread, depth, frames;
  } of_deed;
  /// Of the samples: `buckets` leads to a table of `sample_buckets` pointers to lists. `pieces` are
  /// its memory: each begins with the pointer to the next one and its length.
  struct samples_parts {
    image_part buckets, pieces;
  } of_samples;
  struct sample_parts {
    image_part block, size, site, next;
  } of_sample;
  struct site_parts {
    image_part depth, frames;
  } of_site;
};

}  // namespace ashlar::detail
