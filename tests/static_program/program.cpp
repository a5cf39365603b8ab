// A program that is linked statically, as on a system without shared libraries: threads and containers on the heap,
// beside a pool and an arena. With ASHLAR_FACE_DROP_IN it has ashlar-malloc.o alone, and its heap is malloc.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <tests/support/face.hpp>
#include <thread>
#include <vector>

#include <ashlar/arena/static_arena.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/pool/static_pool.hpp>

#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/adapt/allocator.hpp>
#endif

namespace {

#ifdef ASHLAR_FACE_DROP_IN
template <class T>
using allocator = std::allocator<T>;
#else
template <class T>
using allocator = ashlar::allocator<T>;
#endif

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "static_program: not true: %s\n", what);
  std::exit(1);
}

void use_heap(unsigned seed) {
  std::map<unsigned, std::vector<char, allocator<char>>, std::less<>,
           allocator<std::pair<const unsigned, std::vector<char, allocator<char>>>>>
      kept;
  for (unsigned i = 0; i < 300; ++i) {
    seed = seed * 1'664'525u + 1'013'904'223u;
    auto& bytes = kept[seed % 300];
    for (const char c : bytes) require(c == static_cast<char>(bytes.size()), "bytes are kept");
    const std::size_t size = seed >> 12 & 0x3fff;
    bytes.assign(size, static_cast<char>(size));
  }
  void* block = face::allocate_aligned(4096, 100);
  require(block != nullptr && reinterpret_cast<std::uintptr_t>(block) % 4096 == 0, "aligned");
  face::release(block);
  block = face::allocate_zeroed(1000, 1000);
  block = face::reallocate(block, 3'000'000);
  require(block != nullptr && face::usable_size(block) >= 3'000'000, "reallocated");
  face::release(block);
}

constinit ashlar::static_pool<std::uint64_t, 8> numbers;
constinit ashlar::static_arena<1024> scratch;

void use_pools() {
  std::uint64_t* const number = numbers.create(42u);
  require(number != nullptr && *number == 42, "a pool's object");
  numbers.destroy(number);
  require(scratch.try_allocate(1000, 1) != nullptr, "an arena's memory");
  require(scratch.try_allocate(1000, 1) == nullptr, "an arena's end");
}

}  // namespace

#ifdef ASHLAR_FACE_DROP_IN
// ashlar-malloc.o exports malloc's family alone: a program with pools says itself what a fault does.
extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  require(false, ashlar::describe(what.kind));
  std::abort();
}
#endif

int main() {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 3; ++i) threads.emplace_back(use_heap, i);
  for (std::thread& t : threads) t.join();
  use_heap(4);
  if (!face::drop_in)
    face::trim();  // else a static program on another C library than glibc has no name for it

  use_pools();
  // ashlar-malloc.o has text_writer's functions, too, for itself alone: this program calls its own.
  ashlar::line_writer<32> line;
  line << "as expected";
  line.end_line();
  std::fwrite(line.data(), 1, line.size(), stdout);
}
