// misuse/corpus/heap_instance.cpp: heap instances, beside the process heap, with every check policy.

#include <tests/misuse/faults.h>

#include <ashlar/instance/heap.hpp>

namespace {

using namespace ashlar;

// No call stacks: finding them is most of what a checked call takes, and they are not judged.
constexpr heap_options options{.name = "corpus", .check_stack_depth = 0};

template <class Heap>
Heap& corpus_heap() {
  static Heap instance(options);
  return instance;
}

/// `Reporting` is the same heap with at_death::report, or void where that takes a check.
template <class Heap, class Reporting>
constexpr component heap_of(const char* name) {
  component c{
      .name = name,
      .allocate = [](std::size_t size) { return corpus_heap<Heap>().try_allocate(size); },
      .release = [](void* p) { corpus_heap<Heap>().deallocate(p); },
      .settle =
          [] {
            corpus_heap<Heap>().trim();
            corpus_heap<Heap>().audit();
            return true;
          },
      .release_sized = [](void* p, std::size_t size) { corpus_heap<Heap>().deallocate(p, size); },
      .reallocate = [](void* p,
                       std::size_t size) { return corpus_heap<Heap>().try_reallocate(p, size); },
      .take_from_another =
          [](std::size_t size) {
            static Heap other({.name = "other", .check_stack_depth = 0});
            return other.try_allocate(size);
          },
  };
  if constexpr (!std::is_void_v<Reporting>)
    c.leave_blocks = [] {
      Reporting ends(options);
      for (int i = 0; i < 3; ++i) static_cast<void>(ends.try_allocate(64));
    };
  return c;
}

}  // namespace

const component components[] = {
    heap_of<heap<check::none>, void>("heap/none"),
    heap_of<heap<check::cheap>, heap<check::cheap, at_death::report>>("heap/cheap"),
    heap_of<heap<check::full<>>, heap<check::full<>, at_death::report>>("heap/full"),
    {},
};
