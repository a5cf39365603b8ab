// dropin/serves_process.cpp: sanitizers and other copies of the library in this process.
// Layer: dropin. runtime/drop_in.hpp declares what is asked here.
#include <cstdlib>

#include <ashlar/core/config.hpp>
#include <ashlar/core/elf_note.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/os/system_call.hpp>
#include <ashlar/runtime/drop_in.hpp>

// Every drop-in library and every program with ashlar-malloc.o has this ELF note, by which another
// copy finds it: an exported symbol would be one of the program's names. `readelf -n` shows the
// version.
#define ASHLAR_OWN_VERSION               \
  ASHLAR_NOTE_TEXT(ASHLAR_VERSION_MAJOR) \
  "." ASHLAR_NOTE_TEXT(ASHLAR_VERSION_MINOR) "." ASHLAR_NOTE_TEXT(ASHLAR_VERSION_PATCH)
ASHLAR_ELF_NOTE(ASHLAR_NOTE_DROP_IN, 16, "1: .asciz \"" ASHLAR_OWN_VERSION "\"\n.org 1b + 16, 0");

extern "C" {
/// This library's malloc, whatever the process's is (malloc_family.cpp).
[[gnu::visibility("hidden")]] void* ashlar_own_malloc(std::size_t) noexcept;
}

namespace ashlar::runtime {
namespace {

/// By system calls: sanitizers replace write and _exit, and start themselves when one is called.
void write_line(line_writer<4096>& line) noexcept {
  line.end_line();
  os::system_call(SYS_write, STDERR_FILENO, line.data(), line.size());
}

#if defined(SYS_exit_group)
constexpr long exit_call = SYS_exit_group;
#else
constexpr long exit_call = SYS_exit;  // where it ends all threads
#endif

[[noreturn]] void refuse_beside_a_sanitizer() noexcept {
  line_writer<4096> line;
  line << "ashlar: this program was built with a sanitizer ("
       << os::path_of(reinterpret_cast<const void*>(&__interceptor_malloc))
       << "), which needs malloc for itself: run it without libashlar-malloc.so (LD_PRELOAD), and "
          "link it without ashlar-malloc.o";
  write_line(line);
  for (;;) os::system_call(exit_call, 1);
}

/// Returns: whether the process's malloc is this library's: the loader finds its definition first.
bool is_first() noexcept {
  auto* malloc_here = &std::malloc;
  __asm__("" : "+r"(malloc_here));  // compilers take two functions' addresses to differ
  return malloc_here == &ashlar_own_malloc ||
         os::is_only_referred_to(reinterpret_cast<const void*>(malloc_here));
}

/// Effects: tells of another copy of the library that comes first, if there is one.
void tell_of_another_copy() noexcept {
  const os::loaded_module first =
      os::first_module_with_note(ASHLAR_NOTE_OWNER, ASHLAR_NOTE_DROP_IN);
  const os::loaded_module own =
      os::module_around(reinterpret_cast<const void*>(&ashlar_own_malloc));
  if (first.begin == nullptr || first.begin == own.begin) return;
  line_writer<4096> line;
  line << "ashlar: two copies in one process: " << first.path << " (" << first.note
       << ") serves malloc and " << own.path << " (" ASHLAR_OWN_VERSION
       << ") does nothing: preload or link only one of them";
  write_line(line);
}

}  // namespace

bool serves_this_process() noexcept {
  if (is_first()) {
    if (os::a_sanitizer_is_there()) refuse_beside_a_sanitizer();
    return true;
  }
  tell_of_another_copy();
  return false;
}

}  // namespace ashlar::runtime
