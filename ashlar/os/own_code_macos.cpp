// os/own_code_macos.cpp: os/own_code.hpp by the loader, which knows the image of each address.
// Layer: os.
#include <cstdint>

#include <dlfcn.h>
#include <mach-o/dyld.h>

#include <ashlar/os/own_code.hpp>

namespace ashlar::os {
namespace {

/// Returns: where the image begins that holds `address`; null if none does.
const void* image_of(const void* address) noexcept {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

bool is_own_code(const void* address) noexcept {
  const void* const own = image_of(reinterpret_cast<const void*>(&is_own_code));
  constexpr std::uint32_t of_program = 0;
  return own != ::_dyld_get_image_header(of_program) && image_of(address) == own;
}

}  // namespace ashlar::os
