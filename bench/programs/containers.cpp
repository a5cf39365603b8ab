// Input for the compiler proper in quick mode: three containers and one template of them.
// Preprocess it once (g++ -std=c++20 -E), then run cc1plus on the result. includes.cpp is the full one.
#include <map>
#include <string>
#include <vector>

template <int N>
struct ledger {
  std::map<std::string, std::vector<int>> entries;
  void enter(const std::string& name) { entries[name + std::to_string(N)].push_back(N); }
  std::size_t leave(const std::string& name) { return entries.erase(name); }
};

std::size_t all_ledgers(const std::string& name) {
  ledger<1> one;
  ledger<2> two;
  one.enter(name);
  two.enter(name + "s");
  return one.leave(name) + two.leave(name);
}
