#include "tools/trace/named_profile.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ashlar/core/pprof.hpp>

#include "tools/trace/symbols.hpp"

namespace ashlar::trace {
namespace {

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
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
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
  EXPECT_EQ(named->calls, 3u);
  EXPECT_EQ(named->named, 1u);
  EXPECT_EQ(named->is_named, 1u);
  EXPECT_NE(named->bytes.find("own_mapping"), std::string::npos);
  EXPECT_EQ(profile().find("own_mapping"), std::string::npos);
  EXPECT_NE(named->bytes.find("known before"), std::string::npos);
  EXPECT_TRUE(named->lost.empty());
}

TEST(NamedProfile, StaysTheSameWhenAllIsNamed) {
  const auto once = with_names(profile());
  ASSERT_TRUE(once.has_value());
  const auto twice = with_names(once->bytes);
  ASSERT_TRUE(twice.has_value());
  EXPECT_EQ(twice->is_named, 2u);
  EXPECT_EQ(twice->named, 0u);
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

}  // namespace
}  // namespace ashlar::trace
