// A scene that is built, trimmed a little, and dropped as a whole.
#include <cstdio>
#include <list>

struct shape {
  double corners[4] = {};
  int layer = 0;
};

int main() {
  std::size_t all = 0;
  for (int frame = 0; frame < 100; ++frame) {
    std::list<shape> scene;
    for (int i = 0; i < 300; ++i) scene.push_back({{}, i % 50});  // planted: together
    for (auto at = scene.begin(); at != scene.end();)
      at = at->layer == 49 ? scene.erase(at) : std::next(at);
    scene.push_back({{}, 1});
    all += scene.size();
  }
  std::printf("%zu\n", all);
  return 0;
}
