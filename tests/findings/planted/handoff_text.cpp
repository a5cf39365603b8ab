// Lines of text that one thread makes and another one counts.
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

constexpr int lines = 12'000;
static std::atomic<std::string*> slot;

static std::string line_of(int number) {
  return "a line that is longer than a string holds in itself, " +
         std::to_string(number);  // planted: handoff
}

int main() {
  std::size_t all = 0;
  std::thread reader([&] {
    for (int i = 0; i < lines; ++i) {
      std::string* line = nullptr;
      while ((line = slot.exchange(nullptr)) == nullptr) std::this_thread::yield();
      all += line->size();
      delete line;
    }
  });
  for (int i = 0; i < lines; ++i) {
    auto* const line = new std::string(line_of(i));  // planted: handoff
    while (slot.load() != nullptr) std::this_thread::yield();
    slot.store(line);
  }
  reader.join();
  std::printf("%zu\n", all);
  return 0;
}
