// What the standard faces and handles refuse. See check_cases.py.
#include <list>
#include <vector>

#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct thing {
  int value = 0;
};

static_pool<thing, 4> things;
static_pool<thing, 4> others;
fixed_pool<> blocks_of_the_caller(block_layout{}, {});
static_arena<1000> memory;

static_pool_ptr<things> handle;

#if MISUSE == 1  // says: no match for|no viable overloaded
void f() { handle = make_static<others>(); }
#elif MISUSE == 2   // says: neither const nor volatile
allocator<const int> wrong;
#elif MISUSE == 3   // says: no matching function|no matching constructor
pool_allocator<int, fixed_pool<>> wrong;
#elif MISUSE == 4   // says: no matching|no viable|convert
std::list<int, pool_allocator<int, static_pool<thing, 4>>> wrong(memory);
#elif MISUSE == 5   // says: this component takes every size
int* wrong = component_allocator<int, static_arena<1000>, process_source>(memory).allocate(1);
#elif MISUSE == 6   // says: a container of no elements needs no pool
static_pool_for<std::list<int>, 0> wrong;
#elif MISUSE == 7   // says: container
static_pool_for<std::vector<int>, 10> wrong;
#elif MISUSE == 8   // says: an arena is not lock_free
arena<lock_free<>> wrong{std::span<std::byte>()};
#elif MISUSE == 9   // says: an arena keeps no state of its blocks
arena<check::cheap> wrong{std::span<std::byte>()};
#elif MISUSE == 10  // says: arrays are made by create_array
auto* wrong = memory.create<int[3]>();
#elif MISUSE == 11  // says: deleted
heap<> first;
heap<> wrong(first);
#elif MISUSE == 12  // says: who reports leaks has to count
heap<at_death::report> wrong;
#elif MISUSE == 13  // says: a heap's blocks have no type
heap<check::full<>, at_death::destroy> wrong;
#elif MISUSE == 14  // says: a heap's policies are
heap<check::full<>, counting::exact> wrong;
#endif
