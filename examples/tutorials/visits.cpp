// Counts the visits of pages. It makes a key for each visit, and a list of each page's visitors.
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
  std::unordered_map<std::string, std::vector<int>> visitors;
  for (int visit = 0; visit < 20'000; ++visit) {
    const std::string page = "/the/pages/of/a/shop/" + std::to_string(visit % 400);
    visitors[page].push_back(visit);
  }
  std::printf("%zu pages\n", visitors.size());
  return 0;
}
