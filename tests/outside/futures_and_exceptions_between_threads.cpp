// What std::async, promises and shared pointers make in one thread ends in another: tasks, states,
// exceptions.
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "outside.h"

static std::string work(int i) {
  if (i % 3 == 0) throw std::runtime_error(std::string(200, 'e') + std::to_string(i));
  return std::string(static_cast<std::size_t>(i), 'w');
}

int main() {
  long sum = 0;
  int caught = 0;
  for (int round = 0; round < 30; ++round) {
    std::vector<std::future<std::string>> results;
    std::promise<std::unique_ptr<int[]>> promise;
    auto promised = promise.get_future();
    for (int i = 0; i < 16; ++i)
      results.push_back(
          std::async(i % 4 == 0 ? std::launch::deferred : std::launch::async, work, i));
    std::packaged_task<std::shared_ptr<std::vector<int>>(int)> task([](int n) {
      auto shared = std::make_shared<std::vector<int>>(static_cast<std::size_t>(n));
      std::iota(shared->begin(), shared->end(), 0);
      return shared;
    });
    auto shared = task.get_future();
    std::thread runner([&] { task(1000), promise.set_value(std::make_unique<int[]>(500)); });
    std::weak_ptr<std::vector<int>> weak;
    for (auto& r : results) {
      try {
        sum += static_cast<long>(r.get().size());
      } catch (const std::runtime_error& e) {
        caught += std::string(e.what()).size() > 200;
      }
    }
    promised.get()[499] = 1;
    {
      auto kept = shared.get();
      weak = kept;
      sum += kept->back();
    }
    runner.join();
  }
  std::printf("%ld, %d\n", sum, caught);
}
