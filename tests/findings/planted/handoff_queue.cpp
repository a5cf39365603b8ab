// One thread makes messages, another one reads and frees them.
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct message {
  int number = 0;
  char text[120] = {};
};

class channel {
 public:
  void send(std::unique_ptr<message> m) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return count_ < room; });
    slots_[(first_ + count_++) % room] = std::move(m);
    changed_.notify_all();
  }
  std::unique_ptr<message> receive() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return count_ > 0; });
    std::unique_ptr<message> m = std::move(slots_[first_]);
    first_ = (first_ + 1) % room;
    --count_;
    changed_.notify_all();
    return m;
  }

 private:
  static constexpr std::size_t room = 64;
  std::unique_ptr<message> slots_[room];
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::mutex lock_;
  std::condition_variable changed_;
};

int main() {
  constexpr int messages = 20'000;
  channel to_reader;
  long sum = 0;
  std::thread reader([&] {
    for (int i = 0; i < messages; ++i) sum += to_reader.receive()->number;
  });
  for (int i = 0; i < messages; ++i) {
    auto m = std::make_unique<message>();  // planted: handoff
    m->number = i;
    to_reader.send(std::move(m));
  }
  reader.join();
  std::printf("%ld\n", sum);
  return 0;
}
