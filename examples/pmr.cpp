// std::pmr over ashlar: a pool for the common sizes, an upstream for the rest, and memory for one request
// that needs no heap at all.
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

#include <ashlar/adapt/pmr.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/pool/pool_set.hpp>

namespace {

using small_blocks =
    ashlar::static_pool_set<ashlar::blocks<32, 64>, ashlar::blocks<64, 64>, ashlar::named<"small">>;
constinit small_blocks small;
constinit ashlar::static_arena<4096> request_bytes;

/// Counts what reaches it on the way to the process heap.
class counted final : public std::pmr::memory_resource {
 public:
  std::size_t calls = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    ++calls;
    return ashlar::pmr::process_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    ashlar::pmr::process_resource()->deallocate(p, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace

int main() {
  counted rest;
  ashlar::pmr::resource memory(small, &rest);
  {
    std::pmr::vector<std::pmr::string> names(&memory);
    for (int i = 0; i < 40; ++i) names.emplace_back("a name of thirty-one characters");
    std::printf("%zu names: %zu blocks of the pool, %zu of its upstream\n", names.size(),
                small.stats().blocks_in_use(), rest.calls);
  }

  ashlar::pmr::resource request(request_bytes);
  for (int i = 0; i < 3; ++i) {
    const ashlar::arena_scope scope(request_bytes);
    std::pmr::string text("the text of one request, which goes with it", &request);
    text += text;
  }
  std::printf("%zu pool blocks and %zu arena bytes in use, at most %zu\n",
              small.stats().blocks_in_use(), request_bytes.used_bytes(),
              request_bytes.stats().peak_bytes);
  return 0;
}
