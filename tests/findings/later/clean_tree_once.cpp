// A tree of settings that is read once and kept to the end, with values of any length.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

struct node {
  std::string name;
  std::variant<long, std::string, std::vector<long>> value;
  std::vector<std::unique_ptr<node>> children;
};

static std::unique_ptr<node> read(int depth, int number) {
  auto n = std::make_unique<node>();
  n->name = "setting " + std::to_string(number);
  if (number % 3 == 0) {
    n->value = static_cast<long>(number);
  } else if (number % 3 == 1) {
    n->value = std::string(static_cast<std::size_t>(10 + number % 70), 'v');
  } else {
    n->value = std::vector<long>(static_cast<std::size_t>(1 + number % 9));
  }
  if (depth == 0) return n;
  n->children.reserve(5);
  for (int i = 0; i < 5; ++i) n->children.push_back(read(depth - 1, number * 5 + i));
  return n;
}

int main() {
  const auto all = read(5, 1);
  std::printf("%zu\n", all->children.size());
  return 0;
}
