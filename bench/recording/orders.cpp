// Four threads make orders and keep every third: a program whose names are nested templates.
// bench/recording/named_bytes.py compiles it with -O2 -g.
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct order {
  std::string name;
  std::map<int, std::string> lines;
};
using orders = std::vector<std::unique_ptr<order>>;

std::unique_ptr<order> make_order(int number) {
  auto made = std::make_unique<order>();
  made->name = "an order with a name that is long: " + std::to_string(number);
  for (int i = 0; i < number % 17; ++i) made->lines[i] = "a line that is too long to be inside";
  return made;
}

void serve(int count, orders& kept) {
  for (int i = 0; i < count; ++i) {
    auto made = make_order(i);
    if (i % 3 == 0) kept.push_back(std::move(made));
  }
}

}  // namespace

int main() {
  constexpr int threads = 4;
  std::vector<orders> kept(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&kept, i] { serve(500 * (i + 1), kept[static_cast<std::size_t>(i)]); });
  for (std::thread& each : running) each.join();
  return kept.back().empty() ? 1 : 0;
}
