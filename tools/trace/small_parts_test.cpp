// The tests of the small sources of tools/trace: a part for each, with its name.

#include <tests/support/test_headers.hpp>

#include <fmt/format.h>

#include <ashlar/core/pprof.hpp>
#include <ashlar/pool/pool_set.hpp>

#include "tools/trace/error.hpp"
#include "tools/trace/exported_profile.hpp"
#include "tools/trace/named_profile.hpp"
#include "tools/trace/serving_class.hpp"
#include "tools/trace/symbols.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

using namespace test;

// ---- exported_profile --------------------------------------------------------------------------

event with_stack(event e, std::uint32_t stack) {
  e.stack = stack;
  return e;
}

/// Two call stacks with names: main > work > make (10 blocks of 100, 4 of them freed after a
/// millisecond each) and main > "a;b" (one of 50).
class Export : public testing::Test {
 protected:
  Export() {
    trace_writer out([&](std::string_view more) { bytes_ += more; }, test::header());
    out.add(std::vector<stack_definition>{{1, {0x10, 0x20, 0x30}}, {2, {0x40, 0x30}}});
    out.add(std::vector<module_definition>{{0x1, 0x100, 0, "/bin/program", "\x01\xab"}});
    out.add(std::vector<name_definition>{{0x10, {{"make", "make.c", 7}}},
                                         {0x20, {{"inlined", "work.c", 3}, {"work", "work.c", 9}}},
                                         {0x30, {{"main", "main.c", 1}}},
                                         {0x40, {{"a;b", "", 0}}}});
    for (std::uint64_t i = 0; i < 10; ++i)
      out.add(with_stack(birth(1, 1000, 0x1000 + 16 * i, 100), 1));
    for (std::uint64_t i = 0; i < 4; ++i) out.add(death(1, 2000, 0x1000 + 16 * i));
    out.add(with_stack(birth(1, 3000, 0x9000, 50), 2));
    out.close();
  }

  template <class Write>
  std::string exported(Write write, profile_figure figure) {
    trace_reader reader = test::read(bytes_);
    const trace_summary all = summarise(reader, 1);
    call_names names(reader);
    std::string text;
    write(reader, all, names, figure, [&](std::string_view more) { text += more; });
    return text;
  }

 private:
  std::string bytes_;
};

TEST_F(Export, FoldedStacksHaveTheOutermostCallFirst) {
  const auto folded = [this](profile_figure f) { return exported(write_folded, f); };
  EXPECT_EQ(folded(profile_figure::alloc_space), "main;a:b 50\nmain;work;inlined;make 1000\n");
  EXPECT_EQ(folded(profile_figure::alloc_objects), "main;a:b 1\nmain;work;inlined;make 10\n");
  EXPECT_EQ(folded(profile_figure::inuse_space), "main;a:b 50\nmain;work;inlined;make 600\n");
  EXPECT_EQ(folded(profile_figure::inuse_objects), "main;a:b 1\nmain;work;inlined;make 6\n");
  EXPECT_EQ(folded(profile_figure::peak_space), "main;work;inlined;make 1000\n");
  // Four blocks lived for a millisecond, six for two, up to the end.
  EXPECT_EQ(folded(profile_figure::lifetime), "main;work;inlined;make 16000000\n");
}

TEST(ExportFigures, HaveNames) {
  std::set<profile_figure> all;
  for (const std::string_view name : profile_figure_names) all.insert(figure_named(name).value());
  EXPECT_EQ(all.size(), std::size(profile_figure_names));
  EXPECT_FALSE(figure_named("space").has_value());
}

// ---- named_profile -----------------------------------------------------------------------------

struct out {
  std::string bytes;
  void put(const void* from, std::size_t count) {
    bytes.append(static_cast<const char*>(from), count);
  }
};

/// A file that the mapping has in place of this program, and its build id.
struct other_file {
  std::string path, build_id;
};

/// Where this program's code is mapped.
pprof::mapping own_mapping(pprof::profile_writer<out>& to, const other_file& from) {
  std::ifstream maps("/proc/self/maps");
  const auto here = reinterpret_cast<std::uintptr_t>(&own_mapping);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 && begin <= here &&
        here < end)
      return {.id = 1,
              .begin = begin,
              .end = end,
              .file_offset = offset,
              .file = to.text(from.path.empty() ? line.substr(line.find('/')) : from.path),
              .build_id = from.build_id.empty() ? 0 : to.text(from.build_id),
              .is_named = false};
  }
  return {};
}

/// A profile with one call stack: a call in own_mapping(), and one in no file; then a named one.
std::string profile(const other_file& from = {}) {
  out bytes;
  pprof::profile_writer<out> to(bytes);
  pprof::begin_heap_profile(to, 512);
  to.add(own_mapping(to, from));
  to.add(pprof::location{.id = 1,
                         .mapping = 1,
                         .address = reinterpret_cast<std::uintptr_t>(&own_mapping) + 1,
                         .lines = {}});
  to.add(pprof::location{.id = 2, .mapping = 0, .address = 77, .lines = {}});
  to.add(pprof::function{.id = 9, .name = to.text("known before"), .file = 0});
  const std::array<pprof::line, 1> lines{{{.function = 9, .number = 3}}};
  to.add(pprof::location{.id = 3, .mapping = 0, .address = 99, .lines = lines});
  to.sample(std::array<std::uint64_t, 3>{1, 2, 3}, std::array<std::int64_t, 5>{1, 2, 3, 4, 5});
  return bytes.bytes;
}

TEST(NamedProfile, HasTheNamesOfCallsThatHadNone) {
  const auto named = with_names(profile());
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(std::tuple(named->calls, named->named, named->is_named), std::tuple(3u, 1u, 1u));
  EXPECT_NE(named->bytes.find("own_mapping"), std::string::npos);
  EXPECT_EQ(profile().find("own_mapping"), std::string::npos);
  EXPECT_NE(named->bytes.find("known before"), std::string::npos);
  EXPECT_TRUE(named->lost.empty());
}

TEST(NamedProfile, OpensNoFileThatMayNotBeRead) {
  std::string asked;
  const auto named = with_names(profile(), {.may_read = [&](const std::string& path) {
                                  asked = path;
                                  return false;
                                }});
  ASSERT_TRUE(named.has_value());
  EXPECT_FALSE(asked.empty());
  EXPECT_EQ(named->named, 0u);
  EXPECT_EQ(named->bytes.find("own_mapping"), std::string::npos);
}

TEST(NamedProfile, LooksForTheCallsOfABuildOnce) {
  std::string digits;
  for (const char byte : build_id_of("/proc/self/exe"))
    digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  ASSERT_FALSE(digits.empty());
  const other_file copy{testing::TempDir() + "named_profile_test_copy", digits};
  std::filesystem::copy_file("/proc/self/exe", copy.path,
                             std::filesystem::copy_options::overwrite_existing);
  known_places known(1 << 20);
  const auto first = with_names(profile(copy), {.known = &known});
  const std::size_t bytes = known.bytes();
  std::filesystem::remove(copy.path);
  const auto second = with_names(profile(copy), {.known = &known});
  const auto without = with_names(profile(copy));
  ASSERT_TRUE(first && second && without);
  EXPECT_EQ(first->named, 1u);
  EXPECT_EQ(second->named, 1u);
  EXPECT_EQ(without->named, 0u);
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(known.bytes(), bytes);
  // What cannot be found is looked for again.
  known_places later(1 << 20);
  static_cast<void>(with_names(profile(copy), {.known = &later}));
  EXPECT_EQ(later.bytes(), 0u);
}

TEST(NamedProfile, KeepsPlacesInBoundedMemory) {
  constexpr std::size_t room = 10'000;
  known_places known(room);
  const module_definition file{0, 0, 0, "/a", "id"};
  for (std::uint64_t address = 1; address < 1000; ++address) {
    known.add(file, address, {{"function", "file", 1}});
    EXPECT_LE(known.bytes(), room);
    ASSERT_NE(known.find(file, address), nullptr);
  }
  EXPECT_EQ(known.find(file, 1), nullptr);
  known.add(file, 1, {{std::string(room, 'x'), "", 1}});
  EXPECT_EQ(known.find(file, 1), nullptr);
  EXPECT_EQ(known.find({0, 0, 0, "/a", "other"}, 999), nullptr);
}

TEST(NamedProfile, ShowsAnotherValueFirst) {
  const auto as_it_was = with_names(profile());
  const auto first = with_names(profile(), {.shown_first = "alloc_space"});
  const auto unknown = with_names(profile(), {.shown_first = "nothing"});
  ASSERT_TRUE(as_it_was && first && unknown);
  // Field 14, and the place of the text: behind the empty one, alloc_objects and count.
  EXPECT_EQ(first->bytes, as_it_was->bytes + "\x70\x03");
  EXPECT_EQ(unknown->bytes, as_it_was->bytes);
}

TEST(NamedProfile, IsNothingOfOtherBytes) {
  EXPECT_FALSE(with_names("").has_value());
  EXPECT_FALSE(with_names("a text, and no profile").has_value());
  EXPECT_FALSE(with_names(std::string("\x1f\x8b\x08\0\0\0", 6)).has_value());
  // One byte in seven: each try reads this program's debug information.
  constexpr std::size_t step = 7;
  const std::string whole = profile();
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += step)
    static_cast<void>(with_names(whole.substr(0, bytes)));
  for (std::size_t i = 0; i < whole.size(); i += step) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    static_cast<void>(with_names(changed));
  }
}

// ---- serving_class -----------------------------------------------------------------------------
// The rule against a pool set.

struct shape {
  std::uint64_t block_size, alignment;
};

TEST(ServingClass, IsThatOfAPoolSet) {
  using set = static_pool_set<blocks<16, 1, 8>, blocks<24, 1, 8>, blocks<64, 1, 64>>;
  constexpr std::array<shape, 3> classes{{{16, 8}, {24, 8}, {64, 64}}};
  for (std::size_t size = 1; size <= 65; ++size)
    for (std::size_t alignment = 1; alignment <= 128; alignment *= 2)
      ASSERT_EQ(serving_class(std::span<const shape>(classes), size, alignment),
                set::class_of(size, alignment))
          << size << " at " << alignment;
}

// ---- marked_counts -----------------------------------------------------------------------------

TEST(MarkedCounts, RememberWhatTheyWereAtTheMark) {
  std::mt19937 random(1);
  marked_counts counts(5);
  std::vector<std::int64_t> now(5);
  std::vector<std::int64_t> marked(5);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 4 == 0) {
      counts.mark();
      marked = now;
    }
    const std::size_t at = random() % 5;
    const auto change = static_cast<std::int64_t>(random() % 100) - 50;
    counts.add(at, change);
    now[at] += change;
    for (std::size_t k = 0; k < 5; ++k) {
      ASSERT_EQ(counts.now(k), now[k]);
      ASSERT_EQ(counts.at_mark(k), marked[k]);
    }
  }
}

TEST(MarkedCounts, ACountThatComesLaterWasNothingAtTheMark) {
  marked_counts counts(1);
  counts.add(0, 7);
  counts.mark();
  const std::size_t later = counts.add_count();
  counts.add(later, 3);
  EXPECT_EQ(later, 1u);
  EXPECT_EQ(counts.now(later), 3);
  EXPECT_EQ(counts.at_mark(later), 0);
  counts.mark();
  EXPECT_EQ(counts.at_mark(later), 3);
  EXPECT_EQ(counts.at_mark(0), 7);
}

// ---- step_counts -------------------------------------------------------------------------------

step happened(step::what what, std::uint64_t time, std::uint64_t size) {
  step s;
  s.happened = what;
  s.time = time;
  s.size = size;
  s.thread = s.born_by = 1;
  return s;
}

TEST(StepCounts, EachStepCountsWhereItBelongs) {
  step_counts counts;
  EXPECT_TRUE(counts.count(happened(step::what::birth, 1, 10)));
  EXPECT_TRUE(counts.count(happened(step::what::birth, 2, 20)));
  EXPECT_FALSE(counts.count(happened(step::what::death, 3, 10)));
  EXPECT_FALSE(counts.count(happened(step::what::birth, 4, 5))) << "25 bytes, there were 30";
  EXPECT_FALSE(counts.count(happened(step::what::birth, 5, 5))) << "30 bytes, but in 3 blocks";
  EXPECT_TRUE(counts.count(happened(step::what::birth, 6, 1)));
  step elsewhere = happened(step::what::death, 7, 5);
  elsewhere.thread = 2;
  EXPECT_FALSE(counts.count(elsewhere));
  EXPECT_FALSE(counts.count(elsewhere));
  EXPECT_FALSE(counts.count(happened(step::what::unknown_death, 8, 1000)));
  step other = happened(step::what::other, 9, 1000);
  other.kind = event_kind::mark;
  EXPECT_FALSE(counts.count(other));
  other.kind = event_kind::lost;
  EXPECT_FALSE(counts.count(other));
  other.kind = event_kind::refused;
  other.thread = 7;
  EXPECT_FALSE(counts.count(other));
  EXPECT_EQ(std::tuple(counts.births, counts.birth_bytes, counts.deaths, counts.cross_thread_deaths,
                       counts.lost),
            std::tuple(5u, 41u, 3u, 2u, 1000u));
  EXPECT_EQ(counts.refused, 1u) << "a request, of 1000 bytes";
  EXPECT_EQ(counts.threads, 3u) << "1, 2 and 7";
  EXPECT_EQ(std::tuple(counts.live_blocks, counts.live_bytes, counts.peak_blocks,
                       counts.peak_blocks_time, counts.peak_bytes, counts.peak_bytes_time),
            std::tuple(2u, 21u, 4u, 6u, 31u, 6u));
}

}  // namespace

}  // namespace ashlar::trace
