// A stream for each record, only to put a few numbers together.
#include <cstdio>
#include <sstream>
#include <string>

int main() {
  std::size_t all = 0;
  for (int i = 0; i < 4000; ++i) {
    std::ostringstream line;
    line << "a record of some length, number " << i << ", and its square "
         << i * i;             // planted: temporary
    all += line.str().size();  // planted: temporary
  }
  std::printf("%zu\n", all);
  return 0;
}
