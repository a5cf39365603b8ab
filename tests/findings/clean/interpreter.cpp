// A small interpreter: values of any size that die in no order, on a heap of its own use of which is mixed.
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct object {
  virtual ~object() = default;
};
struct number : object {
  explicit number(double v) : value(v) {}
  double value;
};
struct text : object {
  explicit text(std::size_t n) : value(n, 'x') {}
  std::string value;
};
struct array : object {
  explicit array(std::size_t n) : values(n) {}
  std::vector<double> values;
};

static std::unique_ptr<object> evaluate(std::mt19937& random) {
  switch (random() % 3) {
    case 0:
      return std::make_unique<array>(1 + random() % 60);
    case 1:
      return std::make_unique<text>(16 + random() % 200);
    default:
      return nullptr;  // nothing, a small number: it needs no block
  }
}

int main() {
  std::mt19937 random(7);
  std::vector<std::unique_ptr<object>> variables(50);
  int live = 0;
  for (int i = 0; i < 2500; ++i) variables[random() % variables.size()] = evaluate(random);
  for (const auto& v : variables) live += v != nullptr ? 1 : 0;
  std::printf("%d\n", live);
  return 0;
}
