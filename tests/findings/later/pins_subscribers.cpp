// Subscribers of a service come while a snapshot is sent, which is many messages. The snapshot
// goes, and they stay.
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

struct subscriber {
  std::function<int(int)> call;
  std::unique_ptr<int[]> filter;
};

static std::unique_ptr<subscriber> subscribe(int number) {
  auto s = std::make_unique<subscriber>();                                        // planted: pins
  s->filter = std::make_unique<int[]>(static_cast<std::size_t>(8 + number % 8));  // planted: pins
  const int filter = s->filter[0];
  s->call = [filter, number](int value) { return value + filter + number; };
  return s;
}

int main() {
  std::vector<std::unique_ptr<subscriber>> all(1'200);
  std::vector<std::vector<char>> messages(48'000);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i] = std::vector<char>(140 + i * 11 % 200);
    if (i % 40 == 7) all[i / 40] = subscribe(static_cast<int>(i));
  }
  for (auto& message : messages) message = std::vector<char>();
  long sum = 0;
  for (int round = 0; round < 20'000; ++round)
    for (const auto& s : all) sum += s->call(round);
  std::printf("%ld\n", sum);
  return 0;
}
