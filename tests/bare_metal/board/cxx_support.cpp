// What the C++ library asks of a program without heap and exceptions: each way to a heap or a throw ends in ashlar_fault.
// For images that use containers; with it the linker has no reason to take malloc or the unwinder along. And static
// constructors run: std::pmr's default resource has one.
#include <cstddef>
#include <new>

#include <ashlar/core/fault.hpp>

namespace {

[[noreturn]] void refuse(const char* call, std::size_t size = 0) noexcept {
  ashlar_fault({ashlar::fault_kind::exhausted, call, nullptr, size});
}

}  // namespace

void* operator new(std::size_t size) { refuse("operator new", size); }
void* operator new(std::size_t size, std::align_val_t) { refuse("operator new", size); }
void operator delete(void*) noexcept { refuse("operator delete"); }
void operator delete(void*, std::size_t) noexcept { refuse("operator delete"); }
void operator delete(void*, std::align_val_t) noexcept { refuse("operator delete"); }
void operator delete(void*, std::size_t, std::align_val_t) noexcept { refuse("operator delete"); }

namespace std {
void __throw_length_error(const char* call) {  // NOLINT(bugprone-reserved-identifier)
  refuse(call);
}
void __throw_logic_error(const char* call) {  // NOLINT(bugprone-reserved-identifier)
  refuse(call);
}
void __throw_bad_alloc() {  // NOLINT(bugprone-reserved-identifier)
  refuse("bad_alloc");
}
void __throw_bad_array_new_length() {  // NOLINT(bugprone-reserved-identifier)
  refuse("bad_array_new_length");
}
void __throw_system_error(int) {  // NOLINT(bugprone-reserved-identifier)
  refuse("system_error");
}
}  // namespace std

extern "C" {
extern void (*const __init_array_start[])();
extern void (*const __init_array_end[])();
void board_run_constructors() noexcept {
  for (auto constructor = __init_array_start; constructor != __init_array_end; ++constructor)
    (*constructor)();
}

// Firmware does not end, so that nothing is done at its end.
int __aeabi_atexit(void*, void (*)(void*),
                   void*) noexcept {  // NOLINT(bugprone-reserved-identifier)
  return 0;
}
extern void* const __dso_handle;               // NOLINT(bugprone-reserved-identifier)
constinit void* const __dso_handle = nullptr;  // NOLINT(bugprone-reserved-identifier)

[[noreturn]] void abort() { refuse("abort"); }
[[noreturn]] void __cxa_pure_virtual() noexcept {  // NOLINT(bugprone-reserved-identifier)
  refuse("a pure virtual function");
}
}
