// Parses a document into a tree, looks at it, and frees it node by node.
#include <cstdio>
#include <memory>
#include <vector>

struct element {
  int kind = 0;
  std::unique_ptr<element> first;
  std::unique_ptr<element> next;
};

static std::unique_ptr<element> parse(int depth, int& budget) {
  std::unique_ptr<element> list;
  for (int i = 0; i < 4 && budget > 0; ++i) {
    --budget;
    auto e = std::make_unique<element>();  // planted: together
    e->kind = i;
    if (depth > 0) e->first = parse(depth - 1, budget);
    e->next = std::move(list);
    list = std::move(e);
  }
  return list;
}

static int count(const element* e) {
  int all = 0;
  for (; e != nullptr; e = e->next.get()) all += 1 + count(e->first.get());
  return all;
}

int main() {
  int all = 0;
  for (int document = 0; document < 40; ++document) {
    int budget = 800;
    const auto tree = parse(6, budget);
    all += count(tree.get());
  }
  std::printf("%d\n", all);
  return 0;
}
