// Test scopes without a heap: random calls against a simple model, the first sizes, and the table
// of followed blocks.

#include <tests/support/test_headers.hpp>

#include <ashlar/check/test_scopes.hpp>

namespace {

using namespace ashlar;
using detail::followed_blocks;
using detail::test_scopes;

/// An address that no block has in truth.
const void* address(std::uint64_t number) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(number * 16 + 16));
}

TEST(FollowedBlocks, AreAsAMapHasThem) {
  std::mt19937_64 random(1);
  followed_blocks blocks;
  std::map<const void*, std::size_t> model;
  for (int i = 0; i < 60'000; ++i) {
    // Few addresses, so that many of them lie beside each other in the table, around its end, too.
    const void* const at = address(random() % (i < 30'000 ? 6000 : 300));
    if (random() % 2 == 0 && !model.contains(at)) {
      model[at] = random() % 1000;
      ASSERT_TRUE(blocks.add({at, model[at], 1}));
    } else {
      const auto known = model.find(at);
      const detail::followed_block taken = blocks.take(at);
      ASSERT_EQ(taken.address, known != model.end() ? at : nullptr);
      if (known != model.end()) {
        ASSERT_EQ(taken.size, known->second);
        model.erase(known);
      }
    }
    if (random() % 5000 == 0) {
      const std::size_t kept = random() % 1000;
      blocks.remove_if([&](const detail::followed_block& b) { return b.size >= kept; });
      std::erase_if(model, [&](const auto& m) { return m.second >= kept; });
    }
    ASSERT_EQ(blocks.count(), model.size());
  }
  std::map<const void*, std::size_t> visited;
  blocks.for_each([&](const detail::followed_block& b) { visited[b.address] = b.size; });
  EXPECT_EQ(visited, model);
}

/// What a scope counts, in the plainest way: it keeps every block of its own.
struct model_scope {
  ashlar_test_figures figures{};
  std::vector<std::pair<std::uint64_t, std::size_t>> live;  // address and size, oldest first

  bool drop(std::uint64_t block) {
    const auto at =
        std::find_if(live.begin(), live.end(), [&](const auto& b) { return b.first == block; });
    if (at == live.end()) return false;
    live.erase(at);
    return true;
  }
  void allocated(std::uint64_t block, std::size_t size) {
    if (drop(block)) ++figures.freed_elsewhere;
    live.emplace_back(block, size);
    ++figures.allocations;
    figures.bytes_allocated += size;
    std::uint64_t bytes = 0;
    for (const auto& b : live) bytes += b.second;
    figures.peak_bytes = std::max(figures.peak_bytes, bytes);
  }
  void freed(std::uint64_t block) {
    ++figures.frees;
    if (!drop(block)) ++figures.other_frees;
  }
};

void expect_same(const model_scope& m, const test_scopes& scopes, unsigned number) {
  ashlar_test_figures f, expected = m.figures;
  scopes.figures(number, f);
  expected.live_blocks = m.live.size();
  for (std::size_t i = 0; i < m.live.size(); ++i) {
    expected.live_bytes += m.live[i].second;
    if (i < ASHLAR_TEST_FIRST_SIZES) expected.first_sizes[i] = m.live[i].second;
  }
  using numbers = std::array<std::uint64_t, sizeof f / sizeof(std::uint64_t)>;
  EXPECT_EQ(std::bit_cast<numbers>(f), std::bit_cast<numbers>(expected));
}

TEST(TestScopes, CountAsAModel) {
  std::mt19937_64 random(2);
  const auto scopes = std::make_unique<test_scopes>();
  std::vector<model_scope> models;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t block = random() % 60;
    const std::size_t size = random() % 500;
    switch (random() % 12) {
      case 0:
        if (const unsigned number = scopes->begin({}); number != 0) models.emplace_back();
        break;
      case 1:
        if (models.empty()) break;
        models.resize(random() % models.size());
        scopes->end(static_cast<unsigned>(models.size()) + 1);
        break;
      case 2:
        scopes->forget_freed([&](const void* at) { return at != address(block); });
        for (model_scope& m : models) m.figures.freed_elsewhere += m.drop(block) ? 1 : 0;
        break;
      case 3: {
        const std::uint64_t now = random() % 2 == 0 ? block : random() % 60;
        scopes->resized(address(block), address(now), size);
        for (model_scope& m : models) {
          m.freed(block);
          m.allocated(now, size);
          ++m.figures.reallocations;
        }
        break;
      }
      default:
        if (random() % 2 == 0) {
          scopes->allocated(address(block), size);
          for (model_scope& m : models) m.allocated(block, size);
        } else {
          scopes->freed(address(block));
          for (model_scope& m : models) m.freed(block);
        }
    }
    ASSERT_EQ(scopes->depth(), models.size());
    ASSERT_TRUE(scopes->audit());
    for (unsigned n = 1; n <= models.size(); ++n) expect_same(models[n - 1], *scopes, n);
    if (HasFailure()) return;
  }
}

TEST(TestScopes, TellEachForbiddingScopeOnce) {
  const auto scopes = std::make_unique<test_scopes>();
  int contexts[3] = {};
  std::ignore = scopes->begin({ASHLAR_TEST_ALLOCATIONS, nullptr, &contexts[0]});
  std::ignore = scopes->begin({});
  std::ignore = scopes->begin({ASHLAR_TEST_FREES, nullptr, &contexts[1]});
  std::vector<void*> told;
  const auto tell = [&](const ashlar_test_rules& rules) { told.push_back(rules.context); };
  scopes->for_each_forbidding(ASHLAR_TEST_FREES, tell);
  EXPECT_EQ(told, std::vector<void*>{&contexts[1]});
  scopes->for_each_forbidding(ASHLAR_TEST_ALLOCATIONS | ASHLAR_TEST_FREES, tell);
  EXPECT_EQ(told, (std::vector<void*>{&contexts[1], &contexts[0]}));
  scopes->for_each_forbidding(ASHLAR_TEST_ALLOCATIONS | ASHLAR_TEST_FREES, tell);
  EXPECT_EQ(told.size(), 2u);
}

}  // namespace
