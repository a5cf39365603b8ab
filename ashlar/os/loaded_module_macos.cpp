// os/loaded_module_macos.cpp: os/loaded_module.hpp by the loader's list of images. No image has ELF
// notes.
// Layer: os.
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>

#include <ashlar/os/loaded_module.hpp>

namespace ashlar::os {
namespace {

Dl_info info_of(const void* address) noexcept {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info : Dl_info{};
}

/// Calls visit(command) for each load command of an image.
template <class Visit>
void for_each_command(const mach_header_64& image, Visit visit) noexcept {
  const auto* at = reinterpret_cast<const char*>(&image + 1);
  for (std::uint32_t i = 0; i < image.ncmds; ++i) {
    const auto& command = *reinterpret_cast<const load_command*>(at);
    visit(command);
    at += command.cmdsize;
  }
}

/// Returns: the image's code, as it lies in the file; its begin is where it was linked to.
code_segment code_of(const mach_header_64& image) noexcept {
  code_segment code;
  for_each_command(image, [&](const load_command& command) noexcept {
    if (command.cmd == LC_SEGMENT_64) {
      const auto& segment = reinterpret_cast<const segment_command_64&>(command);
      if (std::strncmp(segment.segname, SEG_TEXT, sizeof segment.segname) != 0) return;
      code.begin = static_cast<std::uintptr_t>(segment.vmaddr);
      code.end = code.begin + static_cast<std::uintptr_t>(segment.vmsize);
      code.file_offset = segment.fileoff;
    } else if (command.cmd == LC_UUID) {
      const auto& uuid = reinterpret_cast<const uuid_command&>(command);
      code.build_id = uuid.uuid;
      code.build_id_bytes = sizeof uuid.uuid;
    }
  });
  return code;
}

}  // namespace

loaded_module first_module_with_note(const char*, std::uint32_t) noexcept { return {}; }

loaded_module module_around(const void* address) noexcept {
  const Dl_info info = info_of(address);
  return {.begin = info.dli_fbase, .path = info.dli_fname};
}

// The loader's functions need no lock that a fork could leave taken: it gets ready for a fork
// itself.
bool finds_code_without_lock() noexcept { return true; }

bool for_code_segment_at(const void* address, void (*visit)(const code_segment&, void*),
                         void* context) noexcept {
  const Dl_info info = info_of(address);
  if (info.dli_fbase == nullptr || info.dli_fname == nullptr) return false;
  const auto* const image = static_cast<const mach_header_64*>(info.dli_fbase);
  code_segment code = code_of(*image);
  code.bias = reinterpret_cast<std::uintptr_t>(image) - code.begin;
  code.begin += code.bias;
  code.end += code.bias;
  code.path = info.dli_fname;
  visit(code, context);
  return true;
}

const void* code_of_program() noexcept {
  constexpr std::uint32_t program = 0;
  return ::_dyld_get_image_header(program);
}

const char* full_path(const code_segment& segment, char*, std::size_t) noexcept {
  return segment.path;
}

const char* path_of(const void* address) noexcept {
  const char* const path = info_of(address).dli_fname;
  return path != nullptr ? path : "the program";
}

bool is_only_referred_to(const void*) noexcept { return false; }

bool has_foreign_operators() noexcept { return false; }

void* function_in_library(const char*, const char*, const char*& why) noexcept {
  why = "no library is loaded on macOS";
  return nullptr;
}

}  // namespace ashlar::os
