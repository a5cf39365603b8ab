// dropin/malloc_options.cpp: mallopt, and what glibc has refused for years.
// Layer: dropin. docs/malloc-interface.md has the table of options.
//
// mallopt returns what glibc's does: programs that must run in real time end where it refuses
// M_MMAP_MAX or M_TRIM_THRESHOLD. But M_PERTURB is refused where nothing would be filled.
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <ashlar/dropin/export.hpp>
#include <ashlar/dropin/glibc_malloc.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/settings.hpp>

using namespace ashlar;

namespace {

/// Effects: as M_PERTURB for the value of MALLOC_PERTURB_, which glibc reads when a process starts.
/// Early, while there is one thread; after the heap's own constructor.
[[gnu::constructor(102)]] void read_environment() noexcept {
  char** const environment = runtime::process_environment();
  if (environment == nullptr) return;
  const char* const text = runtime::find_setting(environment, "MALLOC_PERTURB_");
  if (text == nullptr) return;
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(std::strtoul(text, nullptr, 0));
  errno = saved;
  static_cast<void>(runtime::fill_blocks(byte));
}

}  // namespace

extern "C" {

ASHLAR_EXPORT int mallopt(int parameter, int value) ASHLAR_C_FUNCTION {
  switch (parameter) {
    case glibc::perturb:
      return runtime::fill_blocks(static_cast<unsigned char>(value)) ? 1 : 0;
    case glibc::trim_threshold: {
      detail::purge_policy policy = runtime::the_heap.supply().policy();
      policy.keep_bytes = static_cast<std::size_t>(value);  // -1: everything
      runtime::the_heap.set_purge_policy(policy);
      return 1;
    }
    case glibc::max_fast:
      return static_cast<unsigned>(value) <= glibc::largest_max_fast ? 1 : 0;
    default:
      return 1;  // where glibc's heap would take a block from: no program can tell here
  }
}

/// A heap's state cannot be saved; glibc's cannot, either, since 2.25.
ASHLAR_EXPORT void* malloc_get_state() ASHLAR_C_FUNCTION {
  errno = ENOSYS;
  return nullptr;
}
ASHLAR_EXPORT int malloc_set_state(void*) ASHLAR_C_FUNCTION {
  errno = ENOSYS;
  return -1;
}

}  // extern "C"

ASHLAR_SECOND_NAME(__libc_mallopt, mallopt);
