// Memory for one request at a time: everything a request builds goes at its end, in one move, and
// the next request finds the memory warm. The arena grows once, for the largest request.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <ashlar/arena/arena.hpp>

namespace {

/// Where the chunks come from; a firmware would give the arena a static array instead.
struct heap_pages {
  void* allocate(std::size_t n, std::size_t alignment) noexcept {
    return alignment <= alignof(std::max_align_t) ? std::malloc(n) : nullptr;
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { std::free(p); }
};
using request_memory = ashlar::arena<heap_pages, ashlar::named<"requests">>;

struct word {
  std::string_view text;
  const word* next;
};

/// A resource that must be let go of, whatever memory it lives in.
struct connection {
  static inline int open = 0;
  connection() { ++open; }
  ~connection() { --open; }
};

/// Effects: the words of `line`, last one first, copied into `memory`.
const word* split(request_memory& memory, std::string_view line) {
  const word* last = nullptr;
  while (!line.empty()) {
    const std::size_t n = line.substr(0, line.find(' ')).size();
    char* const copy = memory.create_array<char>(n);
    std::memcpy(copy, line.data(), n);
    last = memory.create<word>(std::string_view(copy, n), last);
    line.remove_prefix(n < line.size() ? n + 1 : n);
  }
  return last;
}

}  // namespace

int main() {
  request_memory memory(ashlar::arena_growth{.first_chunk_bytes = 1024, .max_bytes = 64 * 1024});
  const char* const requests[] = {"cut each stone true", "lay them without mortar", "done"};
  for (const char* const request : requests) {
    const ashlar::arena_scope scope(memory);
    static_cast<void>(memory.create<connection>());  // closed by the scope
    for (const word* w = split(memory, request); w != nullptr; w = w->next) {
      std::printf("%.*s ", static_cast<int>(w->text.size()), w->text.data());
    }
    std::printf("(%zu bytes, %d open)\n", memory.used_bytes(), connection::open);
  }
  const ashlar::arena_stats stats = memory.stats();
  std::printf("%zu allocations, at most %zu of %zu bytes in %zu chunk, %d open\n",
              stats.allocations, stats.peak_bytes, stats.capacity_bytes, stats.chunks,
              connection::open);
  return stats.used_bytes == 0 && stats.chunks == 1 && connection::open == 0 ? 0 : 1;
}
