// Frames of coroutines are allocated in one thread, resumed in a second one, and destroyed in a
// third one.
#include <coroutine>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "outside.h"

struct task {
  struct promise_type {
    std::string value;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::string text) {
      value = std::move(text);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

static task count(int from, std::string prefix) {
  char room[600] = {};
  std::vector<std::string> kept;
  for (int i = from; i < from + 5; ++i) {
    kept.push_back(prefix + std::to_string(i));
    room[i % 600] = 1;
    co_yield kept.back() + room[0];
  }
}

int main() {
  long length = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<task> tasks;
    std::thread([&] {
      for (int i = 0; i < 500; ++i) tasks.push_back(count(i, std::string(40, 'p')));
    }).join();
    std::thread([&] {
      for (int step = 0; step < 3; ++step)
        for (const task& t : tasks) t.handle.resume();
    }).join();
    std::thread([&] {
      for (const task& t : tasks)
        length += static_cast<long>(t.handle.promise().value.size()), t.handle.destroy();
    }).join();
  }
  std::printf("%ld\n", length);
}
