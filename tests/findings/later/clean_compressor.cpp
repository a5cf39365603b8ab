// Packs runs of bytes: two buffers that are swapped, and a table on the stack.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

int main() {
  std::vector<unsigned char> in(300'000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i / 37 % 5);
  std::vector<unsigned char> out;
  out.reserve(2 * in.size());
  std::size_t sizes = 0;
  for (int round = 0; round < 20; ++round) {
    int last[256];
    std::memset(last, 0, sizeof last);
    out.clear();
    for (std::size_t i = 0; i < in.size();) {
      std::size_t run = 1;
      while (i + run < in.size() && in[i + run] == in[i] && run < 255) ++run;
      out.push_back(static_cast<unsigned char>(run));
      out.push_back(in[i]);
      ++last[in[i]];
      i += run;
    }
    sizes += out.size() + static_cast<std::size_t>(last[0] % 2);
    std::printf("%s", std::to_string(round % 10).c_str());
  }
  std::printf("\n%zu\n", sizes);
  return 0;
}
