// os/loaded_module_windows.cpp: os/loaded_module.hpp. No module has ELF notes, and no profile is
// written that would tell of their code.
// Layer: os.
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {

loaded_module first_module_with_note(const char*, std::uint32_t) noexcept { return {}; }

loaded_module module_around(const void* address) noexcept {
  const error_keeper keeper;
  HMODULE module = nullptr;
  constexpr DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (::GetModuleHandleExA(flags, static_cast<const char*>(address), &module) == 0) return {};
  return {.begin = module, .path = "a module"};
}

bool finds_code_without_lock() noexcept { return true; }

bool for_code_segment_at(const void*, void (*)(const code_segment&, void*), void*) noexcept {
  return false;
}

const void* code_of_program() noexcept { return nullptr; }

const char* full_path(const code_segment& segment, char*, std::size_t) noexcept {
  return segment.path;
}

const char* path_of(const void* address) noexcept {
  return module_around(address).begin == ::GetModuleHandleA(nullptr) ? "the program" : "a module";
}

bool is_only_referred_to(const void*) noexcept { return false; }

bool has_foreign_operators() noexcept { return false; }

void* function_in_library(const char*, const char*, const char*& why) noexcept {
  why = "no library is loaded on Windows";
  return nullptr;
}

}  // namespace ashlar::os
