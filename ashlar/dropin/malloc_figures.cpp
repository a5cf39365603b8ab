// dropin/malloc_figures.cpp: mallinfo, mallinfo2, malloc_info and malloc_stats, in glibc's shape.
// Layer: dropin. docs/malloc-interface.md says what each figure means here.
//
// Every function takes its figures first and writes them then: a stream may allocate its buffer.
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdint>
#include <cstdio>

#include <pthread.h>

#include <ashlar/dropin/export.hpp>
#include <ashlar/dropin/glibc_malloc.hpp>
#include <ashlar/runtime/process_heap.hpp>

using namespace ashlar;

namespace {

using classes = runtime::process_heap::classes;

/// The statistics, as glibc divides memory: the arena, and large blocks beside it.
/// Invariant: arena == in_use + free.
struct figures {
  std::uint64_t arena, in_use, free;
  std::uint64_t most;         ///< committed bytes at their peak, large blocks included
  std::uint64_t free_chunks;  ///< free blocks; all free pages together are one more
  std::uint64_t free_pages;   ///< bytes
  std::uint64_t large, large_bytes, large_most, large_bytes_most;
  std::uint64_t free_blocks[ashlar::class_count];  ///< of each class
};

/// Never inlined: the statistics take 8 KiB of stack, which are free again when they are written.
[[gnu::noinline]] figures take_figures() noexcept {
  ashlar_stats stats;
  runtime::collect(stats, false);  // a sandbox allows no call that glibc's figures do not make
  // Parts of it are of different moments while other threads run: no difference may wrap.
  const auto above = [](std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); };
  figures f = {};
  std::uint64_t slabs = 0;
  for (std::size_t c = 1; c < classes::count(); ++c) {
    const ashlar_class_stats& of_class = stats.classes[c - 1];
    const std::uint64_t blocks =
        of_class.slabs * classes::shape(static_cast<class_index>(c)).blocks;
    f.free_blocks[c] = above(blocks, of_class.blocks_in_use);
    f.free_chunks += f.free_blocks[c];
    f.in_use += of_class.blocks_in_use * of_class.block_size;
    slabs += of_class.committed_bytes;
  }
  f.large = stats.large.slabs;
  f.large_bytes = stats.large.committed_bytes;
  f.large_most = stats.large.peak_in_use;
  f.large_bytes_most = stats.large.peak_bytes;
  f.arena = std::max({above(stats.total.committed_bytes, f.large_bytes), slabs, f.in_use});
  f.most = std::max(f.arena, stats.total.peak_committed_bytes);
  f.free = f.arena - f.in_use;
  f.free_pages = f.arena - std::max(slabs, f.in_use);
  if (f.free_pages != 0) ++f.free_chunks;
  return f;
}

/// A figure that does not fit says so by being the largest that does: a wrapped one would be a lie.
std::size_t as_size(std::uint64_t figure) noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(figure, SIZE_MAX));
}

glibc::mallinfo2 as_mallinfo2(const figures& f) noexcept {
  glibc::mallinfo2 info = {};  // what is not below stays 0: glibc's fastbins
  info.arena = as_size(f.arena);
  info.ordblks = as_size(f.free_chunks);
  info.hblks = as_size(f.large);
  info.hblkhd = as_size(f.large_bytes);
  info.uordblks = as_size(f.in_use);
  info.fordblks = as_size(f.free);
  info.keepcost = as_size(f.free_pages);
  return info;
}

/// As as_size, for mallinfo's figures.
int saturated(std::size_t figure) noexcept {
  return static_cast<int>(std::min<std::size_t>(figure, INT_MAX));
}

/// No call of the library is a point where a thread may be cancelled; those of a stream are.
class not_cancelled {
 public:
  not_cancelled() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~not_cancelled() { ::pthread_setcancelstate(before_, nullptr); }
  not_cancelled(const not_cancelled&) = delete;
  not_cancelled& operator=(const not_cancelled&) = delete;

 private:
  int before_ = 0;
};

void write_total(std::FILE* out, const char* type, std::uint64_t count,
                 std::uint64_t bytes) noexcept {
  std::fprintf(out, "<total type=\"%s\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", type,
               count, bytes);
}

void write_sizes(std::FILE* out, const figures& f) noexcept {
  std::fprintf(out, "<sizes>\n");
  for (std::size_t c = 1; c < classes::count(); ++c) {
    const std::uint64_t size = classes::block_size(static_cast<class_index>(c));
    const std::uint64_t count = f.free_blocks[c];
    if (count != 0)
      std::fprintf(out,
                   "  <size from=\"%" PRIu64 "\" to=\"%" PRIu64 "\" total=\"%" PRIu64
                   "\" count=\"%" PRIu64 "\"/>\n",
                   size, size, count * size, count);
  }
  std::fprintf(out, "</sizes>\n");
}

/// glibc writes this for each heap and once more for all of them. There is one heap here.
void write_system(std::FILE* out, const figures& f) noexcept {
  std::fprintf(out,
               "<system type=\"current\" size=\"%" PRIu64
               "\"/>\n"
               "<system type=\"max\" size=\"%" PRIu64
               "\"/>\n"
               "<aspace type=\"total\" size=\"%" PRIu64
               "\"/>\n"
               "<aspace type=\"mprotect\" size=\"%" PRIu64 "\"/>\n",
               f.arena, f.most, f.arena, f.arena);
}

}  // namespace

extern "C" {

ASHLAR_EXPORT glibc::mallinfo2 mallinfo2() ASHLAR_C_FUNCTION {
  return as_mallinfo2(take_figures());
}

ASHLAR_EXPORT glibc::mallinfo mallinfo() ASHLAR_C_FUNCTION {
  const glibc::mallinfo2 wide = mallinfo2();
  glibc::mallinfo info = {};
  info.arena = saturated(wide.arena);
  info.ordblks = saturated(wide.ordblks);
  info.hblks = saturated(wide.hblks);
  info.hblkhd = saturated(wide.hblkhd);
  info.uordblks = saturated(wide.uordblks);
  info.fordblks = saturated(wide.fordblks);
  info.keepcost = saturated(wide.keepcost);
  return info;
}

/// Returns: as glibc, EINVAL for an option, of which there is none, without setting errno.
ASHLAR_EXPORT int malloc_info(int options, std::FILE* out) ASHLAR_C_FUNCTION {
  if (options != 0) return EINVAL;
  const figures f = take_figures();
  const not_cancelled guard;
  std::fprintf(out, "<malloc version=\"1\">\n<heap nr=\"0\">\n");
  write_sizes(out, f);
  // A thread's free blocks are among the free ones of their class, so none are "fast".
  write_total(out, "fast", 0, 0);
  write_total(out, "rest", f.free_chunks, f.free);
  write_system(out, f);
  std::fprintf(out, "</heap>\n");
  write_total(out, "fast", 0, 0);
  write_total(out, "rest", f.free_chunks, f.free);
  write_total(out, "mmap", f.large, f.large_bytes);
  write_system(out, f);
  std::fprintf(out, "</malloc>\n");
  return 0;
}

ASHLAR_EXPORT void malloc_stats() ASHLAR_C_FUNCTION {
  const figures f = take_figures();
  const not_cancelled guard;
  // By hand and in one piece: for a stream without a buffer fprintf takes 8 KiB of stack for one.
  char text[512];
  std::snprintf(text, sizeof text,
                "Arena 0:\n"
                "system bytes     = %10" PRIu64
                "\n"
                "in use bytes     = %10" PRIu64
                "\n"
                "Total (incl. mmap):\n"
                "system bytes     = %10" PRIu64
                "\n"
                "in use bytes     = %10" PRIu64
                "\n"
                "max mmap regions = %10" PRIu64
                "\n"
                "max mmap bytes   = %10" PRIu64 "\n",
                f.arena, f.in_use, f.arena + f.large_bytes, f.in_use + f.large_bytes, f.large_most,
                f.large_bytes_most);
  std::fputs(text, stderr);
}

}  // extern "C"

ASHLAR_SECOND_NAME(__libc_mallinfo, mallinfo);
