// A frame makes its draw calls on the heap, sorts them, and drops them all.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

struct draw_call {
  float depth = 0;
  int mesh = 0;
  float matrix[16] = {};
};

int main() {
  std::vector<std::unique_ptr<draw_call>> calls;
  calls.reserve(500);
  long drawn = 0;
  for (int frame = 0; frame < 60; ++frame) {
    for (int i = 0; i < 300 + frame; ++i) {
      calls.push_back(std::make_unique<draw_call>());  // planted: together
      calls.back()->depth = static_cast<float>((i * 37 + frame) % 101);
    }
    std::sort(calls.begin(), calls.end(),
              [](const auto& a, const auto& b) { return a->depth < b->depth; });
    drawn += static_cast<long>(calls.size());
    calls.clear();
  }
  std::printf("%ld\n", drawn);
  return 0;
}
