#include "tools/report/timeline.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

struct moment {
  std::uint64_t time;
  std::uint64_t bytes;
  std::vector<std::int64_t> layers;
};

// All moments are kept here, and each point is looked up in them.
void compare_with_all_moments(std::uint64_t seed, std::uint64_t longest_step, int changes) {
  constexpr std::size_t classes = 40;  // more than change in one interval
  std::mt19937_64 random(seed);
  timeline over_time;
  for (std::size_t c = 0; c < classes; ++c) ASSERT_EQ(over_time.add_layer(), c);
  heap_state state;
  std::vector<moment> all{{0, 0, std::vector<std::int64_t>(classes)}};
  std::uint64_t time = 0;
  for (int i = 0; i < changes; ++i) {
    time += random() % (longest_step + 1);
    const std::size_t at = random() % classes;
    moment next = all.back();
    next.time = time;
    auto bytes = static_cast<std::int64_t>(random() % 100);
    if (random() % 2 == 0) bytes = -std::min(next.layers[at], bytes);
    next.layers[at] += bytes;
    next.bytes += static_cast<std::uint64_t>(bytes);
    state.bytes = next.bytes;
    over_time.go_to(time);
    over_time.add(at, bytes);
    over_time.reach(state);
    all.push_back(next);
  }
  over_time.close();

  const std::uint64_t width = over_time.interval_ticks();
  const auto& points = over_time.points();
  ASSERT_EQ(points.size(), time / width + 1);
  ASSERT_LE(points.size(), timeline::most_points);
  std::vector<std::vector<std::int64_t>> courses;
  for (std::size_t c = 0; c < classes; ++c) courses.push_back(over_time.course(c));
  std::size_t m = 0;
  moment before = all.front();
  for (std::size_t p = 0; p < points.size(); ++p) {
    // What lived when the interval began, and all that happened in it.
    moment most = before;
    most.time = p * width;
    for (; m < all.size() && all[m].time / width == p; ++m) {
      if (all[m].bytes > most.bytes) most = all[m];
      before = all[m];
    }
    ASSERT_EQ(points[p].state.bytes, most.bytes) << "point " << p;
    ASSERT_EQ(points[p].time, most.time) << "point " << p;
    for (std::size_t c = 0; c < classes; ++c)
      ASSERT_EQ(courses[c][p], most.layers[c]) << "point " << p;
  }
  ASSERT_EQ(m, all.size());
}

TEST(Timeline, EachPointIsTheHighestMomentOfItsInterval) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) compare_with_all_moments(seed, 3, 3000);
}
TEST(Timeline, GapsAreFilledWithWhatLived) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) compare_with_all_moments(seed, 1000000, 200);
}
TEST(Timeline, FewTicksNeedNoHalving) {
  compare_with_all_moments(1, 1, 500);
}

}  // namespace
}  // namespace ashlar::report
