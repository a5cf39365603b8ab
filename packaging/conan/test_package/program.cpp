#include <cstdio>

#include <ashlar/ashlar.hpp>

int main() {
  ashlar::static_pool<int, 2> pool;
  int* const number = pool.create(7);
  ashlar::containers::vector<int> numbers(3, *number);
  std::printf("conan: %d\n", numbers[2]);
  pool.destroy(number);
}
