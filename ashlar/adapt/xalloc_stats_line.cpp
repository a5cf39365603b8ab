// adapt/xalloc_stats_line.cpp: where the lines of xalloc_stats go if the program does not say it.
// Layer: adapt. An object file of its own, so that a program's definition wins.
//
// The classic report goes to std::cout, which a program may have redirected. This library is linked
// into C programs too, so it refers to std::cout by weak names only, of libstdc++ and of libc++:
// each is null in a program without that library. macOS has no such names, and its loader is asked.
#include <cstddef>
#include <cstdio>
#if defined(__APPLE__)
#include <dlfcn.h>
#endif

#include <ashlar/adapt/xmalloc.h>

namespace {

/// A std::ostream of the program's: its first word is the address of its table, and null until it
/// is constructed.
struct stream {
  const void* table;
};
/// ostream::write. It returns the stream, which is an address in a register as this is.
using write_function = stream* (*)(stream*, const char*, std::ptrdiff_t);

#if !defined(__APPLE__)
extern "C" {
[[gnu::weak]] extern stream libstdcxx_cout __asm__("_ZSt4cout");
[[gnu::weak]] stream* libstdcxx_write(stream*, const char*,
                                      std::ptrdiff_t) __asm__("_ZNSo5writeEPKcl");
[[gnu::weak]] extern stream libcxx_cout __asm__("_ZNSt3__14coutE");
[[gnu::weak]] stream* libcxx_write(stream*, const char*, std::ptrdiff_t) __asm__(
    "_ZNSt3__113basic_ostreamIcNS_11char_traitsIcEEE5writeEPKcl");
}
#endif

/// Returns: whether the program has this std::cout, and the line is in it.
bool write(stream* out, write_function write_to, const char* line, std::size_t length) noexcept {
  if (out == nullptr || write_to == nullptr || out->table == nullptr) return false;
  write_to(out, line, static_cast<std::ptrdiff_t>(length));
  return true;
}

/// As `write`, to the std::cout that the program has.
bool write_to_cout(const char* line, std::size_t length) noexcept {
#if defined(__APPLE__)
  return write(static_cast<stream*>(::dlsym(RTLD_DEFAULT, "_ZNSt3__14coutE")),
               reinterpret_cast<write_function>(::dlsym(
                   RTLD_DEFAULT, "_ZNSt3__113basic_ostreamIcNS_11char_traitsIcEEE5writeEPKcl")),
               line, length);
#else
  return write(&libstdcxx_cout, libstdcxx_write, line, length) ||
         write(&libcxx_cout, libcxx_write, line, length);
#endif
}

}  // namespace

extern "C" void xalloc_stats_line(const char* line, std::size_t length) noexcept {
  if (write_to_cout(line, length)) return;
  // stdio, and not write(2), so that the report stands between the program's own lines in order.
  static_cast<void>(std::fwrite(line, 1, length, stdout));
}
