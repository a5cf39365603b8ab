// tools/shim/entry_points.cpp. Layer: shim.
//
// The names are those of the object file, as other files refer to them. The library is linked with
// -Bsymbolic-functions: here they are this library's own definitions, also where the process has
// others that come first.
#include "tools/shim/import_slots.hpp"

// clang-format off: it moves each line further to the right
#define ASHLAR_ENTRY_POINTS(X) \
  X(malloc) X(free) X(calloc) X(realloc) X(reallocarray) X(posix_memalign) X(aligned_alloc) \
  X(memalign) X(valloc) X(pvalloc) X(malloc_usable_size) X(fork) X(prctl) X(_exit) X(_Exit) X(_Znwm) \
  X(_Znam) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t) X(_ZnwmSt11align_val_t) \
  X(_ZnamSt11align_val_t) X(_ZnwmSt11align_val_tRKSt9nothrow_t) \
  X(_ZnamSt11align_val_tRKSt9nothrow_t) X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm) \
  X(_ZdlPvRKSt9nothrow_t) X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t) \
  X(_ZdaPvSt11align_val_t) X(_ZdlPvmSt11align_val_t) X(_ZdaPvmSt11align_val_t) \
  X(_ZdlPvSt11align_val_tRKSt9nothrow_t) X(_ZdaPvSt11align_val_tRKSt9nothrow_t)
// clang-format on

#define ASHLAR_DECLARE(name) extern "C" char ashlar_entry_##name[] __asm__(#name);
ASHLAR_ENTRY_POINTS(ASHLAR_DECLARE)

namespace ashlar::shim {

#define ASHLAR_LIST(name) {#name, ashlar_entry_##name, nullptr},
static constinit diverted_function all[] = {ASHLAR_ENTRY_POINTS(ASHLAR_LIST)};

std::span<diverted_function> entry_points() { return all; }

}  // namespace ashlar::shim
