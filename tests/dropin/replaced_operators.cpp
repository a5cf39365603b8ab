// A program that replaces the two basic operators and no other: the standard has all other forms call
// them, under the drop-in library, too. Each block carries a header of the program's own, so a form
// that went past the program's operators would be seen at once.
#include <tests/support/require.hpp>

namespace {

constexpr std::size_t header = 16;
constexpr std::size_t mark = 0xC0FFEE;
long live = 0;

struct numbers {
  long values[8] = {};
};

}  // namespace

void* operator new(std::size_t size) {
  auto* const block = static_cast<char*>(std::malloc(size + header));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(block) = mark;
  ++live;
  return block + header;
}
void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  char* const block = static_cast<char*>(p) - header;
  REQUIRE(*reinterpret_cast<std::size_t*>(block) == mark);
  *reinterpret_cast<std::size_t*>(block) = 0;
  --live;
  std::free(block);
}

int main() {
  std::vector<std::unique_ptr<numbers>> sized;
  for (int i = 0; i < 5'000; ++i) sized.push_back(std::make_unique<numbers>());
  REQUIRE(live >= 5'000);
  sized.clear();
  sized.shrink_to_fit();
  std::unique_ptr<numbers[]> array(new numbers[100]);
  std::unique_ptr<numbers[]> quiet_array(new (std::nothrow) numbers[100]);
  std::unique_ptr<numbers> quiet(new (std::nothrow) numbers);
  REQUIRE(live == 3);
  array.reset();
  quiet_array.reset();
  quiet.reset();
  REQUIRE(live == 0);
  {
    // libstdc++'s own code allocates strings in the program's name.
    std::vector<std::string> texts(1'000, std::string(40, 'a'));
    REQUIRE(live == 1'001);
  }
  REQUIRE(live == 0);
  return 0;
}
