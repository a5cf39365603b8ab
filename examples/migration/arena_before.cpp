// Orcs side by side in memory of their own. One class of them is larger than the others.
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <vector>

#include "SizeBasedArena.h"

namespace {

class Orc {
 public:
  static constexpr std::size_t NB_MAX = 1'000'000;
  static void* operator new(std::size_t n);
  static void operator delete(void* p) noexcept;

 private:
  [[maybe_unused]] char name_[4] = {'U', 'R', 'G'};
  [[maybe_unused]] int strength_ = 100;
  [[maybe_unused]] double smell_ = 1000.0;
};

using Tribe = SizeBasedArena<Orc, Orc::NB_MAX>;
void* Orc::operator new(std::size_t) { return Tribe::get().allocate_one(); }
void Orc::operator delete(void* p) noexcept { Tribe::get().deallocate_one(p); }

class MeanOrc : public Orc {
 public:
  float attack_bonus;  // oops!
};

}  // namespace

// With an argument: tell the time, too.
int main(int argc, char**) {
  const MeanOrc* const mean = argc > 2 ? new MeanOrc : nullptr;
  std::vector<Orc*> orcs(Orc::NB_MAX - 1);
  const std::clock_t start = std::clock();
  for (auto& o : orcs) o = new Orc;
  const std::clock_t end = std::clock();
  std::printf("%zu orcs\n", orcs.size());
  for (const auto* o : orcs) delete o;
  delete mean;
  const auto ns = [](std::clock_t ticks) {
    return 1e3 * static_cast<double>(ticks) / CLOCKS_PER_SEC;
  };
  if (argc > 1)
    std::printf("new %.1f ns, delete %.1f ns\n", ns(end - start), ns(std::clock() - end));
  return 0;
}
