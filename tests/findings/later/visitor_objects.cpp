// A virtual visitor that is made on the heap for each node that it visits.
#include <cstdio>
#include <memory>
#include <vector>

struct visitor {
  virtual ~visitor() = default;
  virtual long visit(int value) = 0;
};
struct summing : visitor {
  explicit summing(int by) : factor(by) {}
  long visit(int value) override { return static_cast<long>(value) * factor; }
  int factor;
};

static std::unique_ptr<visitor> visitor_for(int kind) {
  return std::make_unique<summing>(kind);  // planted: temporary
}

int main() {
  std::vector<int> values(8000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i % 91);
  long sum = 0;
  for (const int v : values) sum += visitor_for(v % 3)->visit(v);
  std::printf("%ld\n", sum);
  return 0;
}
