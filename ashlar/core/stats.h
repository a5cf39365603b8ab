/* core/stats.h: one statistics model for every face of ashlar; C99, so that it is told only once.
 * Layer: core (freestanding).
 */
#ifndef ASHLAR_CORE_STATS_H
#define ASHLAR_CORE_STATS_H

#include <stdint.h>

/* Counting costs nothing on the hit path. At ASHLAR_ACCURACY_BATCH (the default) blocks that sit in
 * the caches of *other* threads count as in use, allocations and frees that a thread's cache served
 * by itself are not seen, and slack is an upper bound. At ASHLAR_ACCURACY_EXACT (environment
 * ASHLAR_STATS=exact at start) every call is counted, at the price of the hit path. */
enum ashlar_accuracy { ASHLAR_ACCURACY_BATCH = 0, ASHLAR_ACCURACY_EXACT = 1 };

/* One size class, or everything that is in none ("large", block_size 0):
 * above all classes, and of calloc what is above 32 KiB. */
struct ashlar_class_stats {
  uint64_t block_size;      /* bytes; 0 for large blocks, which have no common size */
  uint64_t blocks_made;     /* most blocks that ever existed at once, free ones included */
  uint64_t blocks_in_use;   /* with a caller now */
  uint64_t peak_in_use;     /* most that ever were; at batch accuracy with cached ones */
  uint64_t peak_bytes;      /* most bytes that they were: peak_in_use * block_size, but for large */
  uint64_t allocations;     /* at batch accuracy: those that left the central heap */
  uint64_t frees;           /* allocations - frees == blocks_in_use */
  uint64_t slack_bytes;     /* block bytes beyond what was asked for, of blocks in use */
  uint64_t slabs;           /* slabs (large: runs) that exist now */
  uint64_t committed_bytes; /* their bytes */
};

struct ashlar_total_stats {
  uint64_t accuracy;          /* enum ashlar_accuracy */
  uint64_t bytes_in_use;      /* block sizes of all blocks in use */
  uint64_t peak_bytes_in_use; /* its peak, seen at batch level */
  uint64_t allocations, frees, slack_bytes;
  uint64_t reserved_bytes; /* address space */
  uint64_t
      committed_bytes; /* of it, backed by memory or ready to be: free pages inside slabs, too */
  uint64_t peak_committed_bytes;
  uint64_t resident_bytes;   /* of the whole process, from the system; 0 where unknown */
  uint64_t given_back_bytes; /* returned to the system since the start, summed */
  uint64_t metadata_bytes;   /* ashlar's own tables, bitmaps and caches, committed */
  uint64_t threads;          /* thread caches that exist */
  uint64_t guards_refused;   /* guarded blocks and closed pages that were refused */
  uint64_t limit_bytes;      /* committed_bytes at most; 0: there is no limit */
  uint64_t limit_refusals;   /* requests that found no room within the limit, and got nothing */
  uint64_t pinned_bytes;     /* of slabs, beside their blocks in use, which keep them from going */
};

#define ASHLAR_MAX_CLASSES 96

/* All figures at one moment; consistent per class, not across classes while other threads run. */
struct ashlar_stats {
  struct ashlar_total_stats total;
  struct ashlar_class_stats large;
  uint32_t class_count;
  struct ashlar_class_stats classes[ASHLAR_MAX_CLASSES];
};

#endif
