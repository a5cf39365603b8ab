#include "tools/sites/difference.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/trace_files_test.hpp"

namespace ashlar::sites {
namespace {

using figures = trace::stack_figures;
using trace::event;
using trace::named_call;

constexpr std::size_t any_depth = 1000;

// A trace whose calls are pools, which have names without a program: "a" is at 0x1000, "b" at
// 0x2000 and so on. What comes later in time lies at another place.
class recorded {
 public:
  // `moved`: how far all addresses are from those.
  explicit recorded(std::uint64_t moved = 0) : moved_(moved) {}

  // The calls from the inside out, a letter each. The blocks live on.
  recorded& holds(const std::string& calls, std::uint64_t blocks, std::uint64_t size = 100) {
    for (std::uint64_t i = 0; i < blocks; ++i) birth(calls, size);
    return *this;
  }
  recorded& uses(const std::string& calls, std::uint64_t blocks, std::uint64_t size = 100) {
    for (std::uint64_t i = 0; i < blocks; ++i) {
      birth(calls, size);
      events_.push_back(trace::test::death(1, ++time_, events_.back().address));
    }
    return *this;
  }

  trace::trace_reader reader() const {
    std::string bytes;
    trace::trace_writer out([&](std::string_view more) { bytes += more; }, trace::test::header());
    std::vector<trace::module_definition> modules;
    for (char c = 'a'; c <= 'z'; ++c) {
      const std::uint64_t at = address_of(c);
      modules.push_back({at - 1, at + 1, at, std::string(1, c)});
    }
    out.add(modules);
    out.add(stacks_);
    for (const event& e : events_) out.add(e);
    out.close();
    return trace::test::read(std::move(bytes));
  }

 private:
  std::uint64_t address_of(char c) const {
    return moved_ + 0x1000 * static_cast<std::uint64_t>(c - 'a' + 1);
  }
  void birth(const std::string& calls, std::uint64_t size) {
    std::uint32_t stack = 0;
    if (!calls.empty()) {
      std::vector<std::uint64_t> frames;
      for (const char c : calls) frames.push_back(address_of(c));
      const auto known =
          std::ranges::find_if(stacks_, [&](const auto& s) { return s.frames == frames; });
      stack =
          known != stacks_.end() ? known->number : static_cast<std::uint32_t>(stacks_.size() + 1);
      if (known == stacks_.end()) stacks_.push_back({stack, frames});
    }
    ++time_;
    event e = trace::test::birth(1, time_, 16 * time_, size);
    e.stack = stack;
    events_.push_back(e);
  }

  std::uint64_t moved_, time_ = 0;
  std::vector<trace::stack_definition> stacks_;
  std::vector<event> events_;
};

difference compare(const recorded& before, const recorded& after,
                   measure by = &figures::at_peak_bytes, std::size_t depth = any_depth) {
  trace::trace_reader a = before.reader();
  trace::trace_reader b = after.reader();
  const trace::trace_summary of_a = trace::summarise(a, 2);
  const trace::trace_summary of_b = trace::summarise(b, 2);
  trace::call_names names_a(a);
  trace::call_names names_b(b);
  return differ({a, of_a, names_a}, {b, of_b, names_b}, by, depth);
}

std::string calls_of(const compared_site& site) {
  std::string calls;
  for (const named_call& call : site.calls) calls += call.name;
  return calls;
}
std::vector<std::string> sites_of(const difference& found) {
  std::vector<std::string> all;
  for (const compared_site& site : found.sites) all.push_back(calls_of(site));
  return all;
}
using names = std::vector<std::string>;

TEST(Difference, SitesMatchByNameWhereverTheyLie) {
  const difference found = compare(recorded().holds("ab", 3).holds("cb", 1),
                                   recorded(0x500000).holds("cb", 1).holds("ab", 5));
  ASSERT_EQ(sites_of(found), names{"ab"});
  const compared_site& site = found.sites.front();
  EXPECT_EQ(std::tuple(site.before.at_peak_bytes, site.after.at_peak_bytes, site.before.births,
                       site.after.live_bytes),
            std::tuple(300u, 500u, 3u, 500u));
  EXPECT_FALSE(site.is_new() || site.is_gone());
  EXPECT_EQ(
      std::tuple(found.equal_sites, found.all.before.at_peak_bytes, found.all.after.at_peak_bytes),
      std::tuple(1u, 400u, 600u));
}

TEST(Difference, TheDepthOfARecursionDoesNotMatter) {
  const difference found = compare(recorded().holds("arsrsm", 4), recorded().holds("arsrsrsm", 4));
  EXPECT_EQ(sites_of(found), names{});
  EXPECT_EQ(found.equal_sites, 1u);
  EXPECT_EQ(sites_of(compare(recorded(), recorded().holds("arsrsm", 4))), names{"arsm"});
}

TEST(Difference, CallersCountAsFarAsTheDepthGoes) {
  const recorded before = recorded().holds("abm", 1).holds("acm", 2);
  const recorded after = recorded().holds("adm", 4);
  EXPECT_EQ(sites_of(compare(before, after)).size(), 3u);
  EXPECT_EQ(sites_of(compare(before, after, &figures::at_peak_bytes, 2)).size(), 3u);
  const difference by_function = compare(before, after, &figures::at_peak_bytes, 1);
  ASSERT_EQ(sites_of(by_function), names{"a"});
  EXPECT_EQ(by_function.sites.front().change(&figures::at_peak_bytes), 100u);
}

TEST(Difference, WhatHasNoStackIsLast) {
  const difference found = compare(recorded().holds("a", 1), recorded().holds("a", 2).holds("", 7));
  ASSERT_EQ(found.sites.size(), 2u);
  EXPECT_TRUE(found.sites.back().calls.empty());
  EXPECT_EQ(found.sites.back().after.births, 7u);
  EXPECT_EQ(found.sites.back().after.at_peak_bytes, 700u);
  EXPECT_EQ(compare(recorded().holds("", 3), recorded().holds("", 3)).sites.size(), 0u);
}

TEST(Difference, SizesAreToldApartUpToAKibibyteAndDoubleAbove) {
  const difference found = compare(
      recorded().holds("a", 1, 56).holds("a", 1, 1025).holds("a", 2, 24),
      recorded().holds("a", 3, 64).holds("a", 1, 2048).holds("a", 1, 2049).holds("a", 2, 24));
  ASSERT_EQ(found.sizes.size(), 4u);
  EXPECT_EQ(
      std::tuple(found.sizes[0].least, found.sizes[0].most, found.sizes[1].least,
                 found.sizes[1].most, found.sizes[1].before.at_peak_bytes,
                 found.sizes[1].after.at_peak_bytes, found.sizes[2].least, found.sizes[2].most),
      std::tuple(2049u, 4096u, 1025u, 2048u, 1025u, 2048u, 64u, 64u));
  EXPECT_TRUE(found.sizes[2].is_new());
  EXPECT_EQ(found.sizes[2].after.bytes, 192u);
  EXPECT_TRUE(found.sizes[3].is_gone());
}

TEST(Difference, TheDoublingsHaveAllSizes) {
  const difference found =
      compare(recorded().holds("a", 5, 1).holds("a", 2, 24).holds("a", 1, 33),
              recorded().holds("a", 5, 1).holds("a", 3, 32).holds("a", 1, 64).holds("a", 1, 17));
  ASSERT_EQ(found.doublings.size(), 3u);
  EXPECT_EQ(found.doublings[0].least, 0u);
  EXPECT_EQ(found.doublings[0].most, 1u);
  EXPECT_TRUE(found.doublings[0].is_equal());
  EXPECT_EQ(
      std::tuple(found.doublings[1].least, found.doublings[1].most, found.doublings[1].before.bytes,
                 found.doublings[1].after.bytes, found.doublings[2].least, found.doublings[2].most,
                 found.doublings[2].before.births, found.doublings[2].after.births),
      std::tuple(17u, 32u, 48u, 113u, 33u, 64u, 1u, 1u));
}

TEST(Difference, TheLargestSizeThatThereIsHasARange) {
  const difference found = compare(recorded(), recorded().holds("a", 1, UINT64_MAX));
  ASSERT_EQ(found.sizes.size(), 1u);
  EXPECT_EQ(found.sizes[0].most, UINT64_MAX);
}

TEST(Difference, OfTheSameTwiceThereIsNone) {
  const recorded run = recorded().holds("ab", 3).uses("cb", 4).holds("", 1);
  const difference found = compare(run, run);
  EXPECT_TRUE(found.sites.empty());
  EXPECT_TRUE(found.sizes.empty());
  EXPECT_TRUE(found.all.is_equal());
}

// ---- names --------------------------------------------------------------------------------------

TEST(ComparableNames, AFunctionIsTheSameInEachCopyThatACompilerMakes) {
  for (const char* name : {"f", "f.isra.0", "f.constprop.3", "f.part.1.isra.0", "f.cold",
                           "f.lto_priv.12", "f [clone .isra.0]"})
    EXPECT_EQ(without_copy_mark(name), "f") << name;
  EXPECT_EQ(without_copy_mark("ns::f(int, ...)"), "ns::f(int, ...)");
}

TEST(ComparableNames, AFileIsTheSameInEachVersionAndFolder) {
  EXPECT_EQ(file_without_version("/usr/lib/libssl.so.3.0.1"), "libssl.so");
  EXPECT_EQ(file_without_version("/opt/libssl.so"), "libssl.so");
  EXPECT_EQ(file_without_version("server"), "server");
  EXPECT_EQ(file_without_version(""), "");
}

// A trace of this program, with one library of this build id.
trace::trace_reader reader_of(const std::string& program, const std::string& library,
                              const std::string& build_id) {
  trace::trace_header header = trace::test::header();
  header.set(trace::header_name::program, program);
  std::string bytes;
  trace::trace_writer out([&](std::string_view more) { bytes += more; }, header);
  out.add(std::vector<trace::module_definition>{{0x1000, 0x2000, 0x1000, library, build_id}});
  out.close();
  return trace::test::read(std::move(bytes));
}

TEST(ComparableNames, TheProgramMayHaveAnotherName) {
  const auto before = reader_of("/old/server", "/lib/liba.so.1", "x");
  const auto after = reader_of("/new/server-2", "/lib/liba.so.2", "y");
  const comparable_names a(before, builds_in_both(before, after));
  const comparable_names b(after, builds_in_both(before, after));
  EXPECT_EQ(a.of({"f in server", "f.c", 3, "/old/server", "f"}),
            b.of({"f in server-2", "f.c", 9, "/new/server-2", "f"}));
  EXPECT_EQ(a.of({"f in liba.so.1", "", 0, "/lib/liba.so.1", "f"}),
            b.of({"f in liba.so.2", "", 0, "/lib/liba.so.2", "f"}));
  EXPECT_NE(a.of({"f in server", "", 0, "/old/server", "f"}),
            a.of({"f in liba.so.1", "", 0, "/lib/liba.so.1", "f"}));
}

TEST(ComparableNames, WithoutAFunctionTheOffsetCountsOnlyInTheSameBuild) {
  const named_call here{"liba.so+0x10", "", 0, "/lib/liba.so", ""};
  const named_call there{"liba.so+0x20", "", 0, "/lib/liba.so", ""};
  const auto before = reader_of("/p", "/lib/liba.so", "same");
  const comparable_names same(before,
                              builds_in_both(before, reader_of("/p", "/lib/liba.so", "same")));
  EXPECT_NE(same.of(here), same.of(there));
  EXPECT_EQ(same.of(here), same.of(here));
  EXPECT_EQ(same.shown(here).name, "liba.so+0x10");
  for (const char* id : {"other", ""}) {
    const comparable_names other(before,
                                 builds_in_both(before, reader_of("/p", "/lib/liba.so", id)));
    EXPECT_EQ(other.of(here), other.of(there)) << "the file alone";
    EXPECT_EQ(other.shown(here).name, "functions without a name in liba.so");
  }
}

TEST(ComparableNames, NoAddressIsInAName) {
  const auto reader = reader_of("/p", "/lib/liba.so", "x");
  const comparable_names of(reader, builds_in_both(reader, reader));
  EXPECT_EQ(of.of({"0x7f001000", "", 0, "", ""}), of.of({"0x7f002000", "", 0, "", ""}));
}

}  // namespace
}  // namespace ashlar::sites
