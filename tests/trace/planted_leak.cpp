// Leaks 30 orders of 100 numbers each, with their names, and one block 20 calls deep.
#include <cstdlib>
#include <string>
#include <vector>

namespace shop {

struct order {
  std::string name;
  std::vector<int> numbers;
};

// The tests look for these lines by their comments.
[[gnu::always_inline]] inline order* make_order(int number) {
  auto* const made = new order;  // line: order
  made->name = "an order whose name is too long for the string " + std::to_string(number);
  made->numbers.resize(100);
  return made;
}

[[gnu::noinline]] void serve(int count, bool keep) {
  for (int i = 0; i < count; ++i) {
    const order* const made = make_order(i);  // line: serve
    if (!keep) delete made;
  }
}

[[gnu::noinline]] int descend(int depth) {
  if (depth == 0) {
    static volatile char* kept = nullptr;
    kept = static_cast<char*>(std::malloc(5000));  // line: deep
    kept[0] = 1;
    kept = nullptr;
    return 1;
  }
  return descend(depth - 1) + 1;
}

}  // namespace shop

int main(int argc, char** argv) {
  shop::serve(10, false);
  shop::serve(30, true);
  const int status = argc > 1 ? std::atoi(argv[1]) : 0;
  if (status >= 100) std::abort();
  return shop::descend(20) == 21 ? status : 99;
}
