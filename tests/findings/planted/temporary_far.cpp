// A buffer for each round, during which the round makes a few more that it keeps.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

int main() {
  std::vector<std::string> kept;
  kept.reserve(30'000);
  for (int round = 0; round < 3000; ++round) {
    const auto buffer = std::make_unique<char[]>(2000 + round % 7);  // missed: temporary
    for (int k = 0; k < 8; ++k)
      kept.emplace_back(static_cast<std::size_t>(20 + (round + k) % 40), 'x');
    buffer[0] = kept.back()[0];
  }
  std::printf("%zu\n", kept.size());
  std::fflush(stdout);
  std::_Exit(0);
}
