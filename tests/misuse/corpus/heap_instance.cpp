// misuse/corpus/heap_instance.cpp: heap<>, beside the process heap.
#include <cstddef>

#include <ashlar/runtime/heap.hpp>

#include "component.hpp"

namespace {

ashlar::heap<>& corpus_heap() {
  static ashlar::heap<> instance({.name = "corpus"});
  return instance;
}
void* take_from_another(std::size_t size) {
  static ashlar::heap<> other({.name = "other"});
  return other.try_allocate(size);
}

const corpus::component components[] = {{
    .name = "heap",
    .allocate = [](std::size_t size) { return corpus_heap().try_allocate(size); },
    .release = [](void* p) { corpus_heap().deallocate(p); },
    .settle =
        [] {
          corpus_heap().trim();
          return true;
        },
    .release_sized = [](void* p, std::size_t size) { corpus_heap().deallocate(p, size); },
    .reallocate = [](void* p, std::size_t size) { return corpus_heap().try_reallocate(p, size); },
    .take_from_another = take_from_another,
}};

}  // namespace

int main(int argument_count, char** arguments) {
  return corpus::run(components, argument_count, arguments);
}
