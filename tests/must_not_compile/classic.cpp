// What the classic names refuse. See check_cases.py.
#include <ChunkSizedAllocator.h>
#include <MemManager.h>
#include <SizeBasedArena.h>
#include <memory_pool_allocator.h>

struct thing {
  int value = 0;
};
struct other {
  long value = 0;
};

ChunkSizedAllocator<10, 32, 64, 128> chunks;
MemManager<thing, 4> things;
SizeBasedArena<thing, 10>& arena = SizeBasedArena<thing, 10>::get();
Allocator<thing, 256, 16> allocator;

#if MISUSE == 1  // says: go from small to large
ChunkSizedAllocator<10, 64, 32> wrong;
#elif MISUSE == 2   // says: at least one block of each size
ChunkSizedAllocator<0, 32> wrong;
#elif MISUSE == 3   // says: at least one size
ChunkSizedAllocator<10> wrong;
#elif MISUSE == 4   // says: at least the alignment of std::max_align_t
ChunkSizedAllocator<10, 4, 64> wrong;
#elif MISUSE == 5   // says: a pool without a slot
MemManager<thing, 0> wrong;
#elif MISUSE == 6   // says: an arena without room
auto& wrong = SizeBasedArena<thing, 0>::get();
#elif MISUSE == 7   // says: final
auto& wrong = SizeBasedArena<thing, 10, ashlar::arena_option::final_type>::get();
#elif MISUSE == 8   // says: the last list's size is a whole step
int* wrong = Allocator<int, 100, 8>().allocate(1);
#elif MISUSE == 9   // says: a free block holds a link
int* wrong = Allocator<int, 128, 4>().allocate(1);
#elif MISUSE == 10  // says: deleted
MemManager<thing, 4> wrong(things);
#elif MISUSE == 11  // says: deleted
auto wrong = chunks;
#elif MISUSE == 12  // says: deleted
SizeBasedArena<thing, 10> wrong(arena);
#endif
