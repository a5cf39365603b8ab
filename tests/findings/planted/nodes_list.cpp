// Tasks in a list that are done in another order than they came.
#include <cstdio>
#include <iterator>
#include <list>
#include <random>

struct task {
  int number;
  int weight;
};

int main() {
  std::mt19937 random(2);
  std::list<task> tasks;
  long done = 0;
  for (int i = 0; i < 40'000; ++i) {
    tasks.push_back({i, static_cast<int>(random() % 10)});  // planted: nodes
    if (tasks.size() < 300) continue;
    auto at = tasks.begin();
    std::advance(at, static_cast<long>(random() % 50));
    done += at->weight;
    tasks.erase(at);
  }
  std::printf("%ld\n", done);
  return 0;
}
