// Which blocks are sampled, what the samples say of call sites, and the profile that is written of
// them. Needs POSIX.

#include <tests/support/test_headers.hpp>

#include <ashlar/check/sample_gap.hpp>
#include <ashlar/check/sampled_blocks.hpp>

namespace {

using namespace ashlar;
using detail::sample_gap;
using detail::sampled_blocks;

TEST(SampleGap, KnowsLogarithmsAndExponentials) {
  for (double x = 1e-16; x < 1e16; x *= 1.37)
    EXPECT_NEAR(detail::natural_log(x), std::log(x), 1e-13 * (1 + std::abs(std::log(x)))) << x;
  EXPECT_EQ(detail::natural_log(1), 0);
  EXPECT_EQ(detail::one_minus_exp(0), 0);
  for (double x = 1e-12; x < 200; x *= 1.37)
    EXPECT_NEAR(detail::one_minus_exp(x) / -std::expm1(-x), 1, 1e-12) << x;
}

TEST(SampleGap, KnowsRoots) {
  EXPECT_EQ(detail::square_root(0), 0);
  for (double x = 1e-16; x < 1e32; x *= 1.37)
    EXPECT_NEAR(detail::square_root(x) / std::sqrt(x), 1, 1e-14) << x;
}

TEST(SampleGap, FirstAllocationsAreInNoGap) {
  constexpr sample_gap fresh;
  EXPECT_FALSE(fresh.has_room_for(0));
  EXPECT_FALSE(fresh.reaches(0));
}

/// The share of `count` allocations that are sampled; their sizes come from size(i).
template <class Size, class See>
void sample_all(std::size_t count, std::uint64_t every, std::uint64_t seed, Size size, See see) {
  sample_gap gap;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = size(i);
    if (gap.reaches(bytes))  // as the fast part of a miss
      gap.pass(bytes);
    else if (gap.ended_at(bytes, every, [seed] { return seed; }) != 0)
      see(bytes);
  }
}

TEST(SampleGap, SamplesEachSizeWithItsProbability) {
  constexpr std::uint64_t every = 4096;
  std::mt19937_64 random(11);
  constexpr std::array<std::size_t, 6> sizes = {0, 16, 100, 4096, 20000, 300000};
  std::map<std::size_t, double> made, sampled;
  sample_all(
      3'000'000, every, 5,
      [&](std::size_t) {
        const std::size_t bytes = sizes[random() % sizes.size()];
        ++made[bytes];
        return bytes;
      },
      [&](std::size_t bytes) { ++sampled[bytes]; });
  for (const std::size_t bytes : sizes) {
    const double p = -std::expm1(-(static_cast<double>(bytes) + 1) / every);
    const double wanted = made[bytes] * p, deviation = std::sqrt(made[bytes] * p * (1 - p)) + 1;
    EXPECT_NEAR(sampled[bytes], wanted, 5 * deviation) << bytes;
    EXPECT_NEAR(detail::blocks_for_one(bytes, every), 1 / p, 1e-9 / p) << bytes;
  }
}

/// A program whose sizes follow each other by a rule must not be sampled by it.
TEST(SampleGap, APatternOfSizesMakesNoBias) {
  double first = 0, second = 0;
  constexpr std::size_t pairs = 2'000'000;
  sample_all(
      2 * pairs, 512, 77,
      [](std::size_t i) { return i % 2 == 0 ? std::size_t{511} : std::size_t{31}; },
      [&](std::size_t bytes) {
        (bytes == 511 ? first : second) += detail::blocks_for_one(bytes, 512);
      });
  EXPECT_NEAR(first / pairs, 1, 0.01);
  EXPECT_NEAR(second / pairs, 1, 0.02);
}

/// A rate that changes counts after what is in reach at the latest, and no block before or after is
/// counted for what the other rate's would.
TEST(SampleGap, ARateThatChangesMakesNoBias) {
  constexpr std::size_t threads = 10'000, size = 100, blocks = 50;
  constexpr std::size_t late = sample_gap::reach_max / detail::sampled_bytes(size) + 2;
  for (const auto& [first, second] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 65'536}, {1 << 30, 4096}, {4096, 512}}) {
    double before = 0, estimate = 0;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      sample_gap gap;
      const auto seed = [thread] { return thread; };
      static_cast<void>(gap.ended_at(size, first, seed));
      for (std::size_t i = 0; i < late + blocks; ++i) {
        if (gap.reaches(size))
          gap.pass(size);
        else if (const std::uint64_t mean = gap.ended_at(size, second, seed); mean != 0)
          (i < late ? before : estimate) += detail::blocks_for_one(size, mean);
      }
    }
    const auto expect_near = [&](double seen, std::size_t wanted, std::uint64_t every) {
      const auto all = static_cast<double>(wanted);
      const double p = 1 / detail::blocks_for_one(size, every);
      EXPECT_NEAR(seen, all, 5 * std::sqrt(all * (1 - p) / p)) << first << " " << second;
    };
    expect_near(before, threads * late, std::max(first, second));
    expect_near(estimate, threads * blocks, second);
  }
}

const void* frame(std::uintptr_t n) { return reinterpret_cast<const void*>(n); }
constexpr std::uintptr_t here = 0x401000;

/// Blocks of the test's own at addresses that nobody uses, at three call sites.
struct sampled {
  sampled() { EXPECT_TRUE(all.start()); }
  static const void* block(std::size_t i) { return reinterpret_cast<const void*>(16 * (i + 1)); }
  void add(std::size_t i, std::size_t size, double weight, std::uint64_t now, unsigned site) {
    const std::array<const void*, 2> frames = {frame(here + site), frame(here + 100)};
    all.add(block(i), size, weight, now, frames.data(), 2);
  }
  std::map<std::uintptr_t, pprof::heap_values> sites(std::uint64_t now) {
    std::map<std::uintptr_t, pprof::heap_values> found;
    all.for_each_site([&](const detail::sampled_site& s) {
      const auto key = s.depth == 0 ? 0 : reinterpret_cast<std::uintptr_t>(s.frames[0]) - here;
      EXPECT_TRUE(found.emplace(key, s.at(now)).second) << "a site is there twice: " << key;
    });
    return found;
  }
  sampled_blocks all;
};

TEST(SampledBlocks, SumsOfASiteAreThoseOfItsSamples) {
  sampled s;
  s.add(1, 100, 2, 1000, 1);
  s.add(2, 50, 4, 1500, 1);
  s.add(3, 10, 1, 1000, 2);
  auto* const ended = s.all.take(sampled::block(1));
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->size, 100u);
  s.all.end(ended, 1600);
  const auto sites = s.sites(2000);
  ASSERT_EQ(sites.size(), 2u);
  const pprof::heap_values& v = sites.at(1);
  EXPECT_EQ(std::tuple(v.allocated_blocks, v.allocated_bytes, v.live_blocks, v.live_bytes),
            std::tuple(6, 400, 4, 200));
  EXPECT_EQ(v.lifetime_ns, 2 * 600 + 4 * 500);
  EXPECT_EQ(sites.at(2).live_bytes, 10);
}

TEST(SampledBlocks, AreFoundByTheirAddressAlone) {
  sampled s;
  EXPECT_FALSE(s.all.contains(sampled::block(1)));
  EXPECT_EQ(s.all.take(sampled::block(1)), nullptr);
  s.add(1, 8, 1, 0, 1);
  EXPECT_TRUE(s.all.may_contain(sampled::block(1)));
  EXPECT_TRUE(s.all.contains(sampled::block(1)));
  EXPECT_FALSE(s.all.contains(sampled::block(2)));
  auto* const taken = s.all.take(sampled::block(1));
  EXPECT_FALSE(s.all.contains(sampled::block(1)));
  EXPECT_EQ(s.sites(0).at(1).live_blocks, 1) << "a block that moves is live";
  s.all.put_back(taken, sampled::block(7));
  EXPECT_TRUE(s.all.contains(sampled::block(7)));
  s.all.end(s.all.take(sampled::block(7)), 1);
  EXPECT_EQ(s.sites(1).at(1).live_blocks, 0);
}

TEST(SampledBlocks, ThatEndedAreUsedAgain) {
  sampled s;
  for (std::size_t i = 0; i < 100'000; ++i) {
    s.add(i, 8, 1, 0, 1);
    if (i >= 5000) s.all.end(s.all.take(sampled::block(i - 5000)), 1);
  }
  EXPECT_EQ(s.sites(1).at(1).live_blocks, 5000);
  EXPECT_LT(s.all.memory_bytes(), 2u << 20) << "what is live is what needs memory";
}

TEST(SampledBlocks, AChildKeepsWhatLives) {
  sampled s;
  s.add(1, 100, 2, 0, 1);
  s.add(2, 100, 2, 0, 1);
  s.all.end(s.all.take(sampled::block(1)), 5);
  s.all.forget_allocations();
  const auto v = s.sites(0).at(1);
  EXPECT_EQ(std::tuple(v.allocated_blocks, v.allocated_bytes, v.live_blocks, v.lifetime_ns),
            std::tuple(0, 0, 2, 0));
}

TEST(SampledBlocks, TooManySitesShareOne) {
  sampled_blocks all;
  ASSERT_TRUE(all.start());
  constexpr std::size_t more = 100;
  for (std::size_t i = 0; i < sampled_blocks::sites_max + more; ++i) {
    const void* const frames[] = {frame(here + i)};
    all.add(sampled::block(i), 1, 1, 0, frames, 1);
  }
  std::size_t sites = 0;
  double shared = 0, live = 0;
  all.for_each_site([&](const detail::sampled_site& s) {
    ++sites;
    live += s.sums.live_blocks;
    if (s.depth == 0) shared = s.sums.live_blocks;
  });
  EXPECT_EQ(sites, sampled_blocks::sites_max + 1);
  EXPECT_EQ(shared, more);
  EXPECT_EQ(live, sampled_blocks::sites_max + more);
}

TEST(SampledBlocks, ACallStackIsASiteInEachTag) {
  sampled s;
  const unsigned a = s.all.number_of("a"), ab = s.all.number_of("ab");
  EXPECT_EQ(s.all.number_of("a"), a);
  EXPECT_NE(a, ab);
  const void* const frames[] = {frame(here)};
  std::size_t block = 0;
  for (const unsigned tag : {0u, a, ab, a})
    s.all.add(sampled::block(block++), 100, 3, 0, frames, 1, tag);
  std::map<unsigned, double> live;
  s.all.for_each_site([&](const detail::sampled_site& each) {
    EXPECT_TRUE(live.emplace(each.tag, each.sums.live_bytes).second);
  });
  EXPECT_EQ(live, (std::map<unsigned, double>{{0, 300}, {a, 600}, {ab, 300}}));
  detail::sampled_tag of;
  ASSERT_TRUE(s.all.read_tag(a, of));
  EXPECT_STREQ(of.name, "a");
  EXPECT_EQ(of.live_bytes, 600);
  EXPECT_NEAR(of.live_variance, 2 * (1 - 1.0 / 3) * 300 * 300, 1e-6);
  for (std::size_t i = 0; i < block; ++i) s.all.end(s.all.take(sampled::block(i)), 1);
  ASSERT_TRUE(s.all.read_tag(a, of));
  EXPECT_EQ(of.live_bytes, 0);
  EXPECT_EQ(of.live_variance, 0);
  EXPECT_FALSE(s.all.read_tag(0, of));
  EXPECT_FALSE(s.all.read_tag(ab + 1, of));
}

/// Of 95 % intervals about 95 % have what is true, with 190 samples and with 32.
TEST(SampledBlocks, TheErrorOfATagIsWhatItSays) {
  constexpr std::size_t rounds = 2000;
  constexpr std::uint64_t every = 4096;
  std::mt19937_64 random(42);
  const auto size_of = [](std::size_t i) { return i % 10 == 0 ? std::size_t{9000} : 50 + i % 900; };
  for (const std::size_t blocks : {3000u, 500u}) {
    double exact = 0;
    for (std::size_t i = 0; i < blocks; ++i)
      exact += i % 3 == 0 ? static_cast<double>(size_of(i)) : 0;
    std::size_t right = 0;
    double error = 0, mean = 0, square = 0;
    sampled s;
    const unsigned tag = s.all.number_of("here");
    const void* const frames[] = {frame(here)};
    for (std::size_t round = 0; round < rounds; ++round) {
      sample_gap gap;
      std::vector<std::size_t> live;
      for (std::size_t i = 0; i < blocks; ++i) {
        const std::size_t bytes = size_of(i);
        if (gap.ended_at(bytes, every, [&] { return random(); }) == 0) continue;
        s.all.add(sampled::block(i), bytes, detail::blocks_for_one(bytes, every), 0, frames, 1,
                  tag);
        if (i % 3 != 0)
          s.all.end(s.all.take(sampled::block(i)), 1);
        else
          live.push_back(i);
      }
      detail::sampled_tag of;
      ASSERT_TRUE(s.all.read_tag(tag, of));
      const double deviation = detail::square_root(of.live_variance);
      right += std::abs(of.live_bytes - exact) <= 1.96 * deviation ? 1 : 0;
      error += deviation / rounds;
      mean += of.live_bytes / rounds;
      square += of.live_bytes * of.live_bytes / rounds;
      for (const std::size_t i : live) s.all.end(s.all.take(sampled::block(i)), 1);
    }
    const double spread = std::sqrt(square - mean * mean);
    EXPECT_NEAR(mean, exact, 5 * spread / std::sqrt(rounds));
    EXPECT_NEAR(error / spread, 1, 0.06);
    EXPECT_NEAR(static_cast<double>(right) / rounds, 0.95, 0.02);
  }
}

}  // namespace
