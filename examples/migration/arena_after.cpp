// Orcs side by side in memory of their own. One class of them is larger than the others.
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <vector>

#include <ashlar/adapt/class_new.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

class Orc;
extern constinit ashlar::static_pool<Orc, 1'000'000, ashlar::os::mutex> tribe;
class Orc : public ashlar::pooled<Orc, tribe> {
 public:
  static constexpr std::size_t NB_MAX = 1'000'000;

 private:
  [[maybe_unused]] char name_[4] = {'U', 'R', 'G'};
  [[maybe_unused]] int strength_ = 100;
  [[maybe_unused]] double smell_ = 1000.0;
};

constinit ashlar::static_pool<Orc, 1'000'000, ashlar::os::mutex> tribe;

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
