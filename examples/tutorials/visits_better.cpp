// The same, with one key that is used again, and lists that are told their size.
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
  std::unordered_map<std::string, std::vector<int>> visitors;
  std::string page;
  for (int visit = 0; visit < 20'000; ++visit) {
    page.assign("/the/pages/of/a/shop/").append(std::to_string(visit % 400));
    std::vector<int>& list = visitors[page];
    if (list.empty()) list.reserve(50);
    list.push_back(visit);
  }
  std::printf("%zu pages\n", visitors.size());
  return 0;
}
