// dropin/dlopen_deepbind.cpp: the drop-in library's dlopen, which takes RTLD_DEEPBIND out.
// Layer: dropin. Built into libashlar-malloc.so only: a program that links ashlar-malloc.o
// statically has no next dlopen to call.
//
// A module that is opened with that flag looks names up in itself and its own libraries first. So
// its malloc and free are the C library's, while the program's are ours, and a block that crosses
// ends the process. docs/decisions/0002 tells what else was thought of.
#include <atomic>

#include <dlfcn.h>

#include <ashlar/dropin/export.hpp>
#include <ashlar/runtime/settings.hpp>

using namespace ashlar;

namespace {

using dlopen_function = void*(const char*, int)ASHLAR_C_FUNCTION;

/// Returns: the dlopen that the process would have without this library; null: there is none.
dlopen_function* next_dlopen() noexcept {
  static constinit std::atomic<dlopen_function*> known{nullptr};
  dlopen_function* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = reinterpret_cast<dlopen_function*>(::dlsym(RTLD_NEXT, "dlopen"));
    known.store(next, std::memory_order_relaxed);
  }
  return next;
}

/// Returns: whether ASHLAR_DEEPBIND says that the flag stays. The environment is read once.
bool keeps_deepbind() noexcept {
  static constinit std::atomic<int> known{-1};
  int keeps = known.load(std::memory_order_relaxed);
  if (keeps < 0) {
    char** const environment = runtime::process_environment();
    keeps = environment != nullptr && runtime::read_word(environment, "ASHLAR_DEEPBIND",
                                                         {"drop", "keep"}, "drop or keep") != 0;
    known.store(keeps, std::memory_order_relaxed);
  }
  return keeps != 0;
}

}  // namespace

/// The C library takes its caller's address to find the caller's RUNPATH, $ORIGIN and namespace. So
/// the call of the next dlopen has to be a jump, which leaves our caller's return address in place.
extern "C" ASHLAR_EXPORT void* dlopen(const char* file, int mode) ASHLAR_C_FUNCTION {
  dlopen_function* const next = next_dlopen();
  if (next == nullptr) [[unlikely]]
    return nullptr;
  if ((mode & RTLD_DEEPBIND) != 0 && !keeps_deepbind()) mode &= ~RTLD_DEEPBIND;
  ASHLAR_TAIL_CALL return next(file, mode);
}
