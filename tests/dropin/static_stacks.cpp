// A static program whose first calls of the unwinder are its own exceptions, in several threads at once.
//   static_stacks [twice]: then a block is freed twice.
#include <stdexcept>
#include <tests/support/require.hpp>
#include <thread>

namespace {

void fail(int number) {
  throw std::runtime_error("an exception with a text of its own, number " + std::to_string(number));
}

void catch_some() {
  for (int i = 0; i < 100; ++i) {
    try {
      fail(i);
      REQUIRE(false);
    } catch (const std::runtime_error& error) {
      REQUIRE(std::string(error.what()).ends_with(std::to_string(i)));
    }
  }
}

}  // namespace

int main(int count, char**) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(catch_some);
  catch_some();
  for (std::thread& t : threads) t.join();
  if (count > 1) {
    void* const block = std::malloc(100);
    std::free(block);
    std::free(block);
  }
  return 0;
}
