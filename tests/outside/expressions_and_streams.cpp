// Deep recursion with a block at each level, long strings, string streams, file system walks, in
// four threads.
#include <filesystem>
#include <functional>
#include <future>
#include <iomanip>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "outside.h"

static std::size_t work(unsigned seed) {
  std::size_t sum = 0;
  const std::regex expression("(a|b)*c([0-9]{2,4})(?:x|y)+");
  std::string text;
  for (unsigned i = 0; i < 200; ++i)
    text += "abab" + std::string(i % 5, 'a') + "c" + std::to_string(seed % 900 + 100) + "xy ";
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    sum += (*it)[0].length();
  sum += std::regex_replace(text, expression, "<$2>").size();
  std::ostringstream out;
  for (unsigned i = 0; i < 3000; ++i) out << std::setw(static_cast<int>(i % 20)) << i * 1.5 << '\n';
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) sum += line.size();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/ns"))
    sum += entry.path().string().size();
  std::function<std::size_t(int)> deeper = [&](int n) -> std::size_t {
    const std::vector<std::string> held(3, std::string(static_cast<std::size_t>(n), 'd'));
    return n == 0 ? 0 : deeper(n - 1) + held.back().size();
  };
  return sum + deeper(400);
}

int main() {
  std::vector<std::future<std::size_t>> results;
  for (unsigned i = 0; i < 4; ++i) results.push_back(std::async(std::launch::async, work, 7 * i));
  bool same = true;
  const std::size_t first = results[0].get();
  for (unsigned i = 1; i < 4; ++i) same = results[i].get() == first && same;
  std::printf("same: %d\n", same);
}
