// os/filter_entry_linux.cpp: the calls by which a program closes itself into a sandbox.
// Layer: os. In libashlar-malloc.so and libashlar-record.so alone: each has a
// before_call_filter (call_filter.hpp).
#include <cerrno>
#include <cstdarg>

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>

namespace {

/// Another library may want to know of it, too.
template <class... Arguments>
long call_next(const char* name, Arguments... arguments) noexcept {
  return reinterpret_cast<long (*)(Arguments...)>(::dlsym(RTLD_NEXT, name))(arguments...);
}

/// Effects: makes the call, which brings a filter or the strict mode if it succeeds.
template <class... Arguments>
long enter_sandbox(bool is_strict, const char* name, Arguments... arguments) noexcept {
  if (!ashlar::os::is_in_sandbox()) ashlar::os::before_call_filter(is_strict);
  const bool before = ashlar::os::expect_call_filter(true);
  const long result = call_next(name, arguments...);
  // A program may only ask so whether the system has filters.
  if (static_cast<int>(result) != 0) ashlar::os::expect_call_filter(before);
  return result;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int prctl(int option, ...) noexcept {
  std::va_list more;
  va_start(more, option);
  unsigned long value[4];
  for (unsigned long& each : value) each = va_arg(more, unsigned long);
  va_end(more);
  if (option == PR_SET_SECCOMP)
    return static_cast<int>(enter_sandbox(value[0] == SECCOMP_MODE_STRICT, "prctl", option,
                                          value[0], value[1], value[2], value[3]));
  return static_cast<int>(::syscall(SYS_prctl, option, value[0], value[1], value[2], value[3]));
}

#if defined(__x86_64__)
namespace {

extern "C" [[gnu::used]] long ashlar_filter_call(long number, long operation, long flags,
                                                 long filter) noexcept {
  const bool is_strict = operation == SECCOMP_SET_MODE_STRICT;
  if (is_strict || (operation == SECCOMP_SET_MODE_FILTER && filter != 0))
    return enter_sandbox(is_strict, "syscall", number, operation, flags, filter);
  return call_next("syscall", number, operation, flags, filter);
}
extern "C" [[gnu::used]] long ashlar_failed_call(long result) noexcept {
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace

/// Where other calls go, once this is known: the C library's function, or that of another preloaded
/// library, as one that changes what clocks tell.
extern "C" {
[[gnu::visibility("hidden")]] extern constinit void* ashlar_next_syscall;
constinit void* ashlar_next_syscall = nullptr;
}
[[gnu::constructor(101)]] static void find_next_syscall() noexcept {
  ashlar_next_syscall = ::dlsym(RTLD_NEXT, "syscall");
}

// It needs no stack: a child that shares its parent's returns from here, too.
__asm__(R"(
  .section .text.syscall, "ax", @progbits
  .globl syscall
  .type syscall, @function
syscall:
  .cfi_startproc
  endbr64
  cmpq $317, %rdi  # SYS_seccomp
  je ashlar_filter_call
  movq ashlar_next_syscall(%rip), %rax
  testq %rax, %rax
  jnz 1f
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
  movq %rax, %rdi
  cmpq $-4096, %rax
  ja ashlar_failed_call
  ret
1:
  jmpq *%rax
  .cfi_endproc
  .size syscall, . - syscall
  .text
)");
#endif
