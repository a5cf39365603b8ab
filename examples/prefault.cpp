// A program with a phase that must not wait for the system: all memory is put in place before, and while
// the heap is sealed no call makes a system call, nor touches a page for the first time.
#include <cstdio>
#include <string>
#include <vector>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/ashlar.h>

int main() {
  if (ashlar_prefault(16 << 20, 0) != 0) return 1;  // 16 MiB, for this thread alone
  ashlar_seal();
  // From here on the heap lives on what it has.

  using text = std::basic_string<char, std::char_traits<char>, ashlar::allocator<char>>;
  std::vector<text, ashlar::allocator<text>> lines;
  for (int i = 0; i < 10'000; ++i) lines.emplace_back(40, static_cast<char>('a' + i % 26));
  std::printf("%zu lines; 64 MiB more: %s\n", lines.size(),
              xmalloc(64 << 20) == nullptr ? "not while sealed" : "?");

  ashlar_unseal();
  void* const block = xmalloc(64 << 20);
  std::printf("unsealed: %s\n", block != nullptr ? "64 MiB" : "out of memory");
  xfree(block);
}
