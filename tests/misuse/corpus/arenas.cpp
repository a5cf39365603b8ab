// misuse/corpus/arenas.cpp: an arena. Only its topmost block comes back one by one.

#include <tests/misuse/faults.h>

#include <ashlar/arena/arena.hpp>

namespace {

using namespace ashlar;

constexpr std::size_t size_of_block = 64;
alignas(64) std::byte storage[64 * 1024];
alignas(64) std::byte others_storage[4096];
using tested = arena<named<"corpus">>;

tested& corpus_arena() {
  static tested one{std::span(storage)};
  return one;
}

}  // namespace

const component components[] = {
    {
        .name = "arena",
        .allocate = [](std::size_t size) { return corpus_arena().try_allocate(size); },
        .release = [](void* p) { corpus_arena().deallocate(p, size_of_block); },
        .is_bounded = true,
        .newest_first = true,
        .release_sized = [](void* p, std::size_t size) { corpus_arena().deallocate(p, size); },
        .take_from_another =
            [](std::size_t size) {
              static tested other{std::span(others_storage)};
              return other.try_allocate(size);
            },
        .leave_blocks =
            [] {
              arena<named<"corpus">, at_death::report> ends{std::span(others_storage)};
              for (int i = 0; i < 3; ++i) static_cast<void>(ends.try_allocate(size_of_block));
            },
    },
    {}};
