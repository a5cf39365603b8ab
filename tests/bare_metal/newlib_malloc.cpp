// The C library's malloc on the program that pools are measured with. Linked with newlib and with newlib-nano.
#include <cstddef>
#include <cstdlib>

#include "board/semihosting.hpp"
#include "call_pattern.hpp"
#include "figures_report.hpp"

namespace {

void* allocate(void*, void* size, void*) {
  return std::malloc(reinterpret_cast<std::size_t>(size));
}
void deallocate(void*, void* p, void*) { std::free(p); }

alignas(8) char heap[96 * 1024];
std::size_t used = 0;

template <class SizeOf>
void measure(const char* name, std::size_t blocks, SizeOf size_of) noexcept {
  call_pattern::run program({allocate, deallocate, nullptr, false}, blocks, size_of);
  figures_report::report(name, program.all(), false, figures_report::unbounded);
}

}  // namespace

extern "C" void* _sbrk(std::ptrdiff_t bytes) {
  const std::size_t at = used;
  if (bytes > static_cast<std::ptrdiff_t>(sizeof heap - used)) return reinterpret_cast<void*>(-1);
  used += static_cast<std::size_t>(bytes);
  return heap + at;
}

int main() {
  figures_report::require_calibrated_counter();
  measure(LIBRARY_NAME ", 32 blocks of one size", 32, figures_report::one_size);
  measure(LIBRARY_NAME ", 32 blocks of mixed sizes", 32, figures_report::mixed_sizes);
  measure(LIBRARY_NAME ", 256 blocks of mixed sizes", 256, figures_report::mixed_sizes);
  return figures_report::all_good ? 0 : 1;
}
