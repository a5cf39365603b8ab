// Every function of the malloc family and every operator new and delete, for a run under valgrind
// with the drop-in library preloaded (reports.py).
// Usage: malloc_family proper_use | mistakes
//   proper_use: nothing that a tool may report
//   mistakes:   a read behind a block of each function that allocates, and one of a block that each
//               function that frees has freed; before each a line "case NAME" on standard error
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <tests/support/malloc_calls.hpp>
#include <utility>

namespace {

using namespace malloc_calls;

void begin_case(const char* name) { std::fprintf(stderr, "case %s\n", name); }

/// One function for each case: memcheck tells two errors at one place only once.
volatile char seen;
template <size Case>
void look_at(const char* p) {
  seen = *p;
}
template <size... Cases>
constexpr auto make_lookers(std::index_sequence<Cases...>) {
  return std::array{look_at<Cases>...};
}
constexpr auto lookers =
    make_lookers(std::make_index_sequence<std::size(allocations) + std::size(deallocations)>{});

void use_properly() {
  for (const allocation& a : allocations) {
    auto* const p = static_cast<char*>(a.make());
    std::memset(p, 1, a.room);
    seen = p[a.room - 1];
    a.end(p);
  }
  for (const deallocation& d : deallocations) d.end(d.make());
  end_free(nullptr);
  void* const p = std::malloc(bytes);
  if (::malloc_usable_size(p) < bytes) std::abort();
  std::free(p);
  static_cast<void>(::malloc_trim(0));
  static_cast<void>(::mallinfo2());
}

void make_mistakes() {
  auto look = lookers.begin();
  for (const allocation& a : allocations) {
    begin_case(a.name);
    auto* const p = static_cast<char*>(a.make());
    (*look++)(p + a.room);
    a.end(p);
  }
  for (const deallocation& d : deallocations) {
    begin_case(d.name);
    auto* const p = static_cast<char*>(d.make());
    d.end(p);
    (*look++)(p);
  }
  begin_case("freed_twice");
  void* volatile p = std::malloc(bytes);
  std::free(p);
  std::free(p);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "proper_use") == 0)
    use_properly();
  else
    make_mistakes();
  return 0;
}
