// The lists of a heap's caches, what each may hold, and what happens when memory is refused.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/cache_set.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;

constexpr std::size_t total = 1000;

struct set_fixture {
  ~set_fixture() { caches.release_all(space); }

  template <class IsCallers>
  thread_cache* attach(IsCallers is_callers) {
    return caches.attach(space, {}, keys, total, is_callers);
  }
  thread_cache* attach() {
    return attach([](const thread_cache&) { return false; });
  }
  void detach(thread_cache* c) { caches.detach(space, c, {}); }
  std::vector<const thread_cache*> owned() {
    std::vector<const thread_cache*> found;
    caches.for_each([&](const thread_cache& c) { found.push_back(&c); });
    return found;
  }

  sealable<test_space> space;
  heap_keys keys;
  cache_set<test_space, std::mutex> caches;
};

TEST(CacheSet, CachesShareEvenly) {
  set_fixture f;
  EXPECT_EQ(f.caches.count(), 0u);
  thread_cache* const a = f.attach();
  EXPECT_EQ(f.caches.share(), total);
  f.attach();
  thread_cache* const c = f.attach();
  EXPECT_EQ(f.caches.count(), 3u);
  EXPECT_EQ(f.caches.share(), total / 3);
  EXPECT_FALSE(f.caches.is_beyond_share(total / 3));
  EXPECT_TRUE(f.caches.is_beyond_share(total / 3 + 1));
  f.detach(a);
  f.detach(c);
  EXPECT_EQ(f.caches.share(), total);
}

TEST(CacheSet, TheSecondCacheBringsKeysIntoUseForAllAndForEver) {
  set_fixture f;
  f.keys.place(7);
  thread_cache* const a = f.attach();
  EXPECT_FALSE(a->uses_keys());
  thread_cache* const b = f.attach();
  EXPECT_EQ(a->tops.sign.secret(), 7u) << "without a call of its owner's";
  EXPECT_TRUE(b->uses_keys());
  f.detach(b);
  f.detach(a);
  EXPECT_TRUE(f.attach()->uses_keys()) << "alone again";
}

TEST(CacheSet, ACacheThatIsTheCallersAlreadyStaysAsItIs) {
  set_fixture f;
  thread_cache* const a = f.attach();
  f.attach();
  a->of_owner.bytes[0] = std::byte{1};
  EXPECT_EQ(f.attach([](thread_cache& c) { return c.of_owner.bytes[0] == std::byte{1}; }), a);
  EXPECT_EQ(f.caches.count(), 2u);
  f.detach(a);
  EXPECT_EQ(f.attach()->of_owner.bytes[0], std::byte{0}) << "a new owner's";
}

TEST(CacheSet, AnOwnerThatEndsLeavesItsCacheToTheNext) {
  set_fixture f;
  thread_cache* const a = f.attach();
  thread_cache* const b = f.attach();
  thread_cache* const c = f.attach();
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{c, b, a}));
  f.detach(b);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{c, a})) << "out of the middle";
  const auto calls = f.space.calls();
  EXPECT_EQ(f.attach(), b);
  EXPECT_EQ(f.space.calls(), calls) << "no memory is needed for that";
  f.detach(a);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{b, c})) << "off the end";
  f.detach(b);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{c})) << "off the front";
}

TEST(CacheSet, KeepsEightSpareOnesAndAllWhileItIsSealed) {
  set_fixture f;
  std::vector<thread_cache*> all(12);
  for (thread_cache*& c : all) c = f.attach();
  const std::size_t bytes_each = f.space.live_bytes() / all.size();
  for (thread_cache* c : all) f.detach(c);
  EXPECT_EQ(f.space.live_bytes(), 8 * bytes_each);
  const std::uint64_t calls = f.space.calls();
  for (std::size_t i = 0; i < 8; ++i) all[i] = f.attach();
  EXPECT_EQ(f.space.calls(), calls) << "spare ones cost no system call";
  for (std::size_t i = 8; i < all.size(); ++i) all[i] = f.attach();
  f.space.seal(true);
  for (thread_cache* c : all) f.detach(c);
  EXPECT_EQ(f.space.live_bytes(), 12 * bytes_each) << "releasing would be a system call";
  f.space.seal(false);
}

TEST(CacheSet, KeepOnlyForgetsTheOthers) {
  set_fixture f;
  thread_cache* const gone = f.attach();
  thread_cache* const own = f.attach();
  thread_cache* const gone_too = f.attach();
  f.caches.keep_only(own);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{own}));
  EXPECT_EQ(f.caches.count(), 1u);
  f.detach(own);
  EXPECT_TRUE(f.owned().empty());
  for (thread_cache* c : {gone, gone_too})  // nobody's: the test gives them back
    f.space.release(c, align_up(sizeof(thread_cache), page_size));
}

TEST(CacheSet, RefusedMemoryLeavesNothingBehind) {
  for (std::uint64_t nth = 1;; ++nth) {
    set_fixture f;
    f.space.fail_nth(nth);
    const bool attached = f.attach() != nullptr;
    f.space.fail_nth(0);
    EXPECT_EQ(f.caches.count(), attached ? 1u : 0u);
    if (attached) break;
    EXPECT_EQ(f.space.live_bytes(), 0u) << "call " << nth;
    ASSERT_LT(nth, 10u);
  }
  set_fixture f;
  f.space.fail_always(space_call::populate, true);
  EXPECT_FALSE(f.caches.prefault(f.space, {}, 3, nullptr));
  EXPECT_EQ(f.space.live_bytes(), 0u);
  f.space.fail_always(space_call::populate, false);
  EXPECT_TRUE(f.caches.prefault(f.space, {}, 3, nullptr));
  f.space.fail_from(1);
  for (int i = 0; i < 3; ++i) EXPECT_NE(f.attach(), nullptr) << "they wait for owners";
  EXPECT_EQ(f.attach(), nullptr);
}

}  // namespace
