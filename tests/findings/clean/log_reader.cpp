// Reads lines into one string, and keeps sums by a code: the usual filter of a log.
#include <array>
#include <cstdio>
#include <fstream>
#include <string>

int main() {
  const std::string path = "log_reader.txt";
  {
    std::ofstream out(path);
    for (int i = 0; i < 30'000; ++i)
      out << "GET /a/page/of/a/site/" << i << " HTTP/1.1 " << 200 + i % 5 << '\n';
  }
  std::array<long, 600> by_code{};
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line))
    ++by_code[static_cast<std::size_t>(std::stoi(line.substr(line.size() - 3)))];
  std::remove(path.c_str());
  std::printf("%ld\n", by_code[200]);
  return 0;
}
