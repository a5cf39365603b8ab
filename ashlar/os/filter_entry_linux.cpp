// os/filter_entry_linux.cpp: the calls by which a program closes itself into a sandbox.
// Layer: os. In libashlar-malloc.so and libashlar-record.so alone: each has a
// before_call_filter (call_filter.hpp).
#include <atomic>
#include <cstdarg>

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/next_function.hpp>
#include <ashlar/os/system_call.hpp>

/// Where calls go, once this is known: the C library's functions, or those of another preloaded
/// library, as one that changes what clocks tell. By its name for the code below.
using syscall_function = long (*)(long, ...);
extern "C" {
[[gnu::visibility("hidden")]] extern constinit syscall_function ashlar_next_syscall;
constinit syscall_function ashlar_next_syscall = nullptr;
}

namespace {

using prctl_function = int (*)(int, ...);
constinit prctl_function next_prctl = nullptr;
constinit std::atomic<bool> has_filter{false};

[[gnu::constructor(101)]] void find_next_calls() noexcept {
  using ashlar::os::next_function;
  ashlar_next_syscall = reinterpret_cast<syscall_function>(next_function("syscall"));
  next_prctl = reinterpret_cast<prctl_function>(next_function("prctl"));
}

/// Effects: makes the call, which brings a filter or the strict mode if `succeeds(its result)`: a
/// program may only ask so whether the system has filters.
template <class Call, class Succeeds>
auto enter_sandbox(bool is_strict, Call call, Succeeds succeeds) noexcept {
  const bool was_in_sandbox = ashlar::os::is_in_sandbox();
  if (!was_in_sandbox) ashlar::os::before_call_filter(is_strict);
  ashlar::os::expect_call_filter(true);
  const auto result = call();
  if (succeeds(result)) {
    has_filter.store(true, std::memory_order_relaxed);
    ashlar::os::after_call_filter();
  } else if (!was_in_sandbox && !has_filter.load(std::memory_order_relaxed)) {
    ashlar::os::expect_call_filter(false);  // no other thread had more luck
  }
  return result;
}

}  // namespace

// As the system's header has it: glibc's says noexcept.
extern "C" [[gnu::visibility("default")]] int prctl(int option,
                                                    ...) noexcept(noexcept(::prctl(0))) {
  std::va_list more;
  va_start(more, option);
  unsigned long value[4];
  for (unsigned long& each : value) each = va_arg(more, unsigned long);
  va_end(more);
  const auto call = [&] {
    if (next_prctl != nullptr) return next_prctl(option, value[0], value[1], value[2], value[3]);
    return static_cast<int>(
        ashlar::os::system_call(SYS_prctl, option, value[0], value[1], value[2], value[3]));
  };
  if (option != PR_SET_SECCOMP) return call();
  return enter_sandbox(value[0] == SECCOMP_MODE_STRICT, call, [](int r) { return r == 0; });
}

#if ASHLAR_HAS_SYSTEM_CALL
namespace {

extern "C" [[gnu::used]] long ashlar_filter_call(long number, unsigned operation, unsigned flags,
                                                 void* filter) noexcept {
  const auto call = [=] { return ashlar_next_syscall(number, operation, flags, filter); };
  const bool is_strict = operation == SECCOMP_SET_MODE_STRICT;
  const bool is_filter = operation == SECCOMP_SET_MODE_FILTER && filter != nullptr;
  if (!is_strict && !is_filter) return call();
  const bool gives_descriptor = is_filter && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
  return enter_sandbox(is_strict, call,
                       [=](long r) { return r == 0 || (r > 0 && gives_descriptor); });
}

}  // namespace

// It needs no stack: a child that shares its parent's returns from here, too. Before the
// constructor it makes each call itself.
__asm__(R"(
  .section .text.syscall, "ax", @progbits
  .globl syscall
  .type syscall, @function
syscall:
  .cfi_startproc
  endbr64
  movq ashlar_next_syscall(%rip), %rax
  testq %rax, %rax
  jz ashlar_system_call
  cmpq $317, %rdi  # SYS_seccomp
  je ashlar_filter_call
  jmpq *%rax
  .cfi_endproc
  .size syscall, . - syscall
  .text
)");
#endif
