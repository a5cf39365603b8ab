// std::pmr pools shared by threads, over-aligned and sized forms of new and delete up to a
// mebibyte, nothrow.
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "outside.h"

struct alignas(256) wide {
  char bytes[1000];
  virtual ~wide() = default;
};
struct wider : wide {
  std::string text = std::string(100, 'w');
};

int main() {
  std::pmr::synchronized_pool_resource pool;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&pool, i] {
      std::pmr::map<unsigned, std::pmr::string> words(&pool);
      for (unsigned k = 0; k < 3000; ++k)
        words[k * 7919 % 1000] = std::pmr::string(k % 200 + i, 'p', &pool);
      std::pmr::monotonic_buffer_resource arena(64, &pool);
      std::pmr::vector<std::pmr::string> many(&arena);
      for (int k = 0; k < 500; ++k) many.emplace_back(100, 'm');
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t alignment = 1; alignment <= (1 << 20); alignment *= 2)
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, alignment - 1, alignment,
                             3 * alignment + 5, std::size_t{70000}}) {
      const auto a = static_cast<std::align_val_t>(alignment);
      char* p = static_cast<char*>(::operator new(size, a));
      char* q = static_cast<char*>(::operator new[](size, a, std::nothrow));
      CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0 &&
            reinterpret_cast<std::uintptr_t>(q) % alignment == 0);
      memset(p, 1, size);
      memset(q, 2, size);
      CHECK(size == 0 || (p[size - 1] == 1 && q[size - 1] == 2));
      ::operator delete(p, size, a);
      ::operator delete[](q, a);
    }
  std::vector<std::unique_ptr<wide>> objects;
  for (int i = 0; i < 500; ++i) objects.emplace_back(i % 2 ? new wider : new wide);
  auto* array = new wider[7];
  delete[] array;
  CHECK(::operator new(~std::size_t{0} / 2, std::nothrow) == nullptr);
  CHECK(::operator new(~std::size_t{0} / 2, std::align_val_t{4096}, std::nothrow) == nullptr);
  int refused = 0;
  for (volatile std::size_t size = ~std::size_t{0} / 2; size > ~std::size_t{0} / 64;
       size = size / 2)
    try {
      ::operator delete(::operator new(size));
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  std::printf("refused: %d\n", refused);
}
