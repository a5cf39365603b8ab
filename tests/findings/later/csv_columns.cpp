// Splits lines into columns, each a string in a vector that is made for each line. The strings are a
// finding that was not planned. (A reader would agree with it: views into the line need no blocks.)
#include <cstdio>
#include <string>
#include <vector>

static std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> columns;
  std::string::size_type from = 0;
  for (;;) {
    const auto end = line.find(';', from);
    columns.push_back(line.substr(from, end - from));  // planted: growth, wrong: hot_loop
    if (end == std::string::npos) return columns;
    from = end + 1;
  }
}

int main() {
  const std::string line =
      "a first column of the table;a second one that is long;and a third one, longer still";
  std::size_t all = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto columns = split(line);
    all += columns.size();
  }
  std::printf("%zu\n", all);
  return 0;
}
