// Elements that can only be copied: each step of the vector copies their blocks, too.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

class name {
 public:
  explicit name(int n) : text_(static_cast<char*>(std::malloc(24))) {
    std::snprintf(text_, 24, "name %d", n);
  }
  name(const name& other) : text_(static_cast<char*>(std::malloc(24))) {
    std::memcpy(text_, other.text_, 24);
  }
  name& operator=(const name&) = delete;
  ~name() { std::free(text_); }

 private:
  char* text_;
};

int main() {
  std::size_t all = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<name> names;
    for (int i = 0; i < 30; ++i) names.emplace_back(i);  // missed: growth
    all += names.size();
  }
  std::printf("%zu\n", all);
  return 0;
}
