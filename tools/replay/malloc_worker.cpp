// tools/replay/malloc_worker.cpp: ashlar-replay-worker: a script on the malloc that this process has: the system's, or
// the one that LD_PRELOAD names. Layer: replay. Links no part of ashlar.
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "tools/replay/worker.hpp"

namespace {

// Compiled with -fno-builtin for these: the compiler must not know what they do, and leave some out.
struct process_malloc {
  static void* allocate(std::size_t size) { return ::malloc(size); }
  static void* zeroed(std::size_t size) { return ::calloc(1, size); }
  static void* aligned(std::size_t size, std::size_t alignment) {
    return ::aligned_alloc(alignment, size);
  }
  // A size of 0 would be free(), in some libraries.
  static void* resize(void* block, std::size_t, std::size_t size) {
    return ::realloc(block, size == 0 ? 1 : size);
  }
  static void release(void* block, std::size_t) { ::free(block); }
  [[nodiscard]] std::size_t usable_size(const void* block) const {
    return known_ ? ::malloc_usable_size(const_cast<void*>(block)) : 0;
  }
  [[nodiscard]] bool knows_usable_size() const { return known_; }

 private:
  // A library without a malloc_usable_size of its own must not have another's asked about its blocks.
  static bool of_one_library() {
    Dl_info of_malloc{};
    Dl_info of_usable{};
    return ::dladdr(::dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 &&
           ::dladdr(::dlsym(RTLD_DEFAULT, "malloc_usable_size"), &of_usable) != 0 &&
           of_malloc.dli_fbase == of_usable.dli_fbase;
  }
  bool known_ = of_one_library();
};

ashlar::replay::run_result result;  // large: not on the stack

}  // namespace

int main(int argc, char** argv) {
  process_malloc target;
  ashlar::replay::run_worker(target, argc, argv, result);
  ashlar::replay::write_result(&result, sizeof result);
  return 0;
}
