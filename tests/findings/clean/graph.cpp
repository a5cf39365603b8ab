// Shortest ways in a graph that is two arrays, with queues that are used again.
#include <cstdio>
#include <random>
#include <vector>

int main() {
  constexpr unsigned nodes = 20'000;
  std::mt19937 random(5);
  std::vector<unsigned> begin(nodes + 1);
  for (unsigned i = 0; i <= nodes; ++i) begin[i] = i * 4;
  std::vector<unsigned> to(nodes * 4);
  for (unsigned& t : to) t = static_cast<unsigned>(random() % nodes);
  std::vector<unsigned> queue;
  std::vector<int> distance;
  queue.reserve(nodes);
  distance.reserve(nodes);
  long all = 0;
  for (unsigned start = 0; start < 30; ++start) {
    queue.assign(1, start);
    distance.assign(nodes, -1);
    distance[start] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (unsigned e = begin[queue[at]]; e < begin[queue[at] + 1]; ++e)
        if (distance[to[e]] < 0) {
          distance[to[e]] = distance[queue[at]] + 1;
          queue.push_back(to[e]);
        }
    all += distance[queue.back()];
  }
  std::printf("%ld\n", all);
  return 0;
}
