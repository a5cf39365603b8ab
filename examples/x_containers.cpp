// The classic x containers: the standard's, on xmalloc's blocks. Which heap that is, the program decides
// at link time (xallocator.h); this one has the process heap.
#include <cstdio>
#include <string>
#include <vector>

#include "stl_allocator.h"
#include "xlist.h"
#include "xmap.h"
#include "xsstream.h"
#include "xstring.h"

int main() {
  xlist<xstring> lines;
  for (int i = 1; i <= 3; ++i) {
    xostringstream line;
    line << "line number " << i << ", long enough to be a block of its own";
    lines.push_back(line.str());
  }
  xmap<std::size_t, int> lengths;
  for (const xstring& line : lines) ++lengths[line.size()];
  for (const auto& [length, count] : lengths) std::printf("%d lines of %zu\n", count, length);

  // Any container takes the allocator, and xfree takes what it allocated.
  std::vector<int, stl_allocator<int>> numbers(100, 7);
  int* const raw = stl_allocator<int>().allocate(10);
  std::printf("%zu numbers; 10 more in %zu bytes\n", numbers.size(), xusable_size(raw));
  xfree(raw);
  return 0;
}
