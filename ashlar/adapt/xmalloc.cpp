// adapt/xmalloc.cpp: xmalloc's family on the process heap.
// Layer: adapt.
// Law: all of adapt/xmalloc.h is defined here, and nothing else is. A program that defines the
// family itself then never pulls this object out of the archive, whatever else of libashlar it
// uses.
//
// Every block of the family is counted for xalloc_stats (runtime/created_blocks.hpp). That is why
// these two hits are longer than those of malloc and free.
#include <ashlar/adapt/c_rules.hpp>
#include <ashlar/adapt/xmalloc.h>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/runtime/created_blocks.hpp>
#include <ashlar/runtime/process_heap.hpp>

using namespace ashlar;

namespace {

using runtime::xmalloc_blocks;

/// Effects: counts a block that no hit path served, if it is not null. Returns: block.
void* counted(void* block) noexcept {
  if (block != nullptr) xmalloc_blocks.allocated(runtime::counted_class(block));
  return block;
}

ASHLAR_COLD void* allocate_missed(std::size_t size) noexcept {
  return counted(c_rules::allocate_missed(size, "xmalloc"));
}
// xfree ends with a jump to here, so a sanitizer names this function as the one that freed a block.
ASHLAR_COLD void xfree_missed(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  const class_index c = runtime::counted_class(block);
  runtime::deallocate_slow(block, call);
  xmalloc_blocks.freed(c);
}

ASHLAR_HOT void free_block(void* block, const char* call) noexcept {
  const class_index c = runtime::tops().tables.class_of(block);
  if (!runtime::process_hits::try_deallocate(runtime::tops(), block, c)) [[unlikely]]
    return xfree_missed(block, call);
  xmalloc_blocks.freed_by_hit(c);
}

/// Effects: the classic report's line for class `c`, if the family ever had a block of it.
void write_line(class_index c) noexcept {
  const runtime::created_count blocks = xmalloc_blocks.of(c);
  if (blocks.created == 0) return;
  line_writer<128> line;
  line << "xallocator Block Size: ";
  if (c != 0)
    line << runtime::process_classes::block_size(c);
  else
    line << "large";
  line << " Block Count: " << blocks.created << " Blocks In Use: " << blocks.in_use << "\n";
  xalloc_stats_line(line.data(), line.size());
}

}  // namespace

extern "C" {

void* xmalloc(std::size_t size) noexcept {
  void* const block = runtime::process_hits::try_allocate(runtime::tops(), size);
  if (block == nullptr) [[unlikely]]
    return allocate_missed(size);
  return xmalloc_blocks.hit(block, runtime::process_classes::of_size(size));
}
void xfree(void* block) noexcept { free_block(block, "xfree"); }
void xfree_as(void* block, const char* call) noexcept { free_block(block, call); }
int xalloc_asks_handler() noexcept { return 0; }
void* xrealloc(void* block, std::size_t size) noexcept {
  if (block == nullptr) return xmalloc(size);
  if (size == 0) {
    xfree_missed(block, "xrealloc");
    return nullptr;
  }
  const class_index before = runtime::counted_class(block);
  void* const after = c_rules::reallocate(block, size, "xrealloc");
  if (after == nullptr) return nullptr;
  if (const class_index c = runtime::counted_class(after); c != before) {
    xmalloc_blocks.allocated(c);
    xmalloc_blocks.freed(before);
  }
  return after;
}
void* xcalloc(std::size_t count, std::size_t size) noexcept {
  return counted(c_rules::allocate_zeroed(count, size, "xcalloc"));
}
void* xaligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return counted(c_rules::allocate_aligned(alignment, size, "xaligned_alloc"));
}
std::size_t xusable_size(const void* block) noexcept {
  return c_rules::usable_size(block, "xusable_size");
}

void xalloc_init() noexcept {
  runtime::deallocate(runtime::allocate(0, "xalloc_init"), "xalloc_init");
}
void xalloc_destroy() noexcept { runtime::trim(); }
void xalloc_stats() noexcept {
  for (std::size_t c = 1; c < class_count; ++c) write_line(static_cast<class_index>(c));
  write_line(0);
  const std::size_t others = runtime::other_threads();
  if (others == 0) return;
  line_writer<192> line;
  line << "xallocator Note: " << others
       << (others == 1 ? " other thread is running, and may hold "
                       : " other threads are running, and each may hold ")
       << std::uint64_t{runtime::created_blocks::free_max}
       << " free blocks of a size that count as in use here\n";
  xalloc_stats_line(line.data(), line.size());
}

}  // extern "C"
