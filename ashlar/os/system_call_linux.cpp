// os/system_call_linux.cpp: os/system_call.hpp by the processor's instruction.
// Layer: os.
#include <cerrno>

#include <ashlar/os/system_call.hpp>

#if ASHLAR_HAS_SYSTEM_CALL
extern "C" [[gnu::used]] [[gnu::visibility("hidden")]] long ashlar_failed_call(
    long result) noexcept {
  errno = static_cast<int>(-result);
  return -1;
}

// It needs no stack: a child that shares its parent's returns from here, too.
__asm__(R"(
  .section .text.ashlar_system_call, "ax", @progbits
  .weak ashlar_system_call
  .hidden ashlar_system_call
  .type ashlar_system_call, @function
ashlar_system_call:
  .cfi_startproc
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
  .cfi_endproc
  .size ashlar_system_call, . - ashlar_system_call
  .text
)");
#endif
