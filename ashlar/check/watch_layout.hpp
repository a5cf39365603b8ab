// check/watch_layout.hpp: fills in the description of checks and samples (core/watch_image.hpp).
// Layer: check. As heap/heap_layout.hpp does for a heap: every number comes from the structures.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/check/sampled_blocks.hpp>
#include <ashlar/check/watched_heap.hpp>
#include <ashlar/core/watch_image.hpp>
#include <ashlar/heap/heap_layout.hpp>

namespace ashlar::detail {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

struct watch_layout {
  /// Returns: the layout of what looks at a heap, and of what is sampled; null: nothing is.
  [[nodiscard]] static constexpr watch_image of(const heap_watch* watch,
                                                const sampled_blocks* samples) noexcept {
    watch_image image{};
    for (std::size_t i = 0; i < sizeof image.magic; ++i)
      image.magic[i] = watch_image::right_magic[i];
    image.version = watch_image::current_version;
    image.bytes = sizeof image;
    image.watch = watch;
    image.samples = samples;
    image.slot_bytes = guarded_blocks::slot_bytes;
    image.record_bytes = sizeof(block_record);
    image.chunk_bytes = sizeof(block_records::chunk);
    image.sample_buckets = 1u << sampled_blocks::sample_bucket_bits;
    static_assert(offsetof(block_records::chunk, next) == 0);
    static_assert(offsetof(sampled_blocks::piece, next) == 0);

    image.of_watch = {.records = ASHLAR_PART(heap_watch, checks.records_),
                      .guards = ASHLAR_PART(heap_watch, guards)};
    image.of_records = {.buckets = ASHLAR_PART(block_records, buckets_),
                        .bucket_count = ASHLAR_PART(block_records, bucket_count_),
                        .chunks = ASHLAR_PART(block_records, chunks_)};
    image.of_guards = {.begin = ASHLAR_PART(guarded_blocks, begin_),
                       .reserved = ASHLAR_PART(guarded_blocks, reserved_),
                       .used = ASHLAR_PART(guarded_blocks, used_),
                       .records = ASHLAR_PART(guarded_blocks, records_)};
    image.of_record = {.address = ASHLAR_PART(block_record, address),
                       .size = ASHLAR_PART(block_record, size),
                       .block = ASHLAR_PART(block_record, block),
                       .made = ASHLAR_PART(block_record, made),
                       .freed = ASHLAR_PART(block_record, freed),
                       .next = ASHLAR_PART(block_record, next_in_bucket)};
    image.of_deed = {.call = ASHLAR_PART(deed, call),
                     .thread = ASHLAR_PART(deed, thread),
                     .depth = ASHLAR_PART(deed, at.depth),
                     .frames = ASHLAR_PART(deed, at.frames)};
    image.of_samples = {.buckets = ASHLAR_PART(sampled_blocks, samples_),
                        .pieces = ASHLAR_PART(sampled_blocks, pieces_)};
    image.of_sample = {.block = ASHLAR_PART(block_sample, block),
                       .size = ASHLAR_PART(block_sample, size),
                       .site = ASHLAR_PART(block_sample, site),
                       .next = ASHLAR_PART(block_sample, next_in_bucket)};
    image.of_site = {.depth = ASHLAR_PART(sampled_site, depth),
                     .frames = ASHLAR_PART(sampled_site, frames)};
    return image;
  }
};

#pragma GCC diagnostic pop

}  // namespace ashlar::detail
