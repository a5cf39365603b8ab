// Counts words of a text in memory: views into the text, a table that was told its size.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

int main() {
  std::string text;
  text.reserve(2'000'000);
  for (int i = 0; i < 200'000; ++i)
    text.append("word").append(1, static_cast<char>('a' + i % 26)).append(" ");
  std::vector<std::string_view> words;
  words.reserve(200'000);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    words.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  std::sort(words.begin(), words.end());
  const auto different = std::unique(words.begin(), words.end()) - words.begin();
  std::printf("%td\n", different);
  return 0;
}
