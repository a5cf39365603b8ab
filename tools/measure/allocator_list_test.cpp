#include "tools/measure/allocator_list.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tools/files/error.hpp"
#include "tools/measure/known_allocators.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::measure {
namespace {

// The loader's cache with one library in it, by the layout that ld.so of glibc 2.2 and later reads.
std::string cache_of(const std::string& name, const std::string& path) {
  std::string bytes = "glibc-ld.so.cache1.1";
  const auto word = [&](std::uint32_t value) {
    bytes.append(reinterpret_cast<const char*>(&value), 4);
  };
  const std::uint32_t strings = 48 + 24;
  word(1);
  word(static_cast<std::uint32_t>(name.size() + path.size() + 2));
  for (int i = 0; i < 5; ++i) word(0);
  word(0x303);
  word(strings);
  word(strings + static_cast<std::uint32_t>(name.size()) + 1);
  for (int i = 0; i < 3; ++i) word(0);
  bytes.append(name).push_back('\0');
  bytes.append(path).push_back('\0');
  return bytes;
}

TEST(LoaderCache, FindsAPathByTheLibrarysName) {
  const std::string cache = cache_of("libx.so.1", "/lib/libx.so.1");
  EXPECT_EQ(lookup_in_loader_cache(cache, "libx.so.1"),
            (std::vector<std::string>{"/lib/libx.so.1"}));
  EXPECT_EQ(lookup_in_loader_cache("an older header" + cache, "libx.so.1").size(), 1u);
  EXPECT_TRUE(lookup_in_loader_cache(cache, "libx.so").empty());
}

TEST(LoaderCache, ADamagedCacheIsReadToItsEndAndNoFurther) {
  const std::string cache = cache_of("libx.so.1", "/lib/libx.so.1");
  for (std::size_t size = 0; size < cache.size(); ++size) {
    EXPECT_TRUE(lookup_in_loader_cache(cache.substr(0, size), "libx.so.1").empty()) << size;
  }
  for (std::size_t at = 20; at < cache.size(); ++at) {
    std::string damaged = cache;
    damaged[at] = '\xff';
    lookup_in_loader_cache(damaged, "libx.so.1");
  }
}

// bench/peers/peers.json is read again here, by another reader than the build's.
TEST(AllocatorList, KnowsThePeersOfTheBenchmarksThatCompareNames) {
  std::ifstream file(ASHLAR_PEERS_FILE);
  std::vector<std::string> listed;
  for (const nlohmann::json& peer : nlohmann::json::parse(file)) {
    if (!peer.contains("compare")) continue;
    const nlohmann::json& compare = peer.at("compare");
    std::string row = compare.at("name");
    for (const nlohmann::json& library : compare.value("libraries", peer.at("libraries")))
      row += " " + library.get<std::string>();
    listed.push_back(row);
  }
  std::vector<std::string> known;
  for (const known_allocator& each : known_allocators()) {
    std::string row(each.name);
    for (const std::string_view library : each.libraries) row += " " + std::string(library);
    known.push_back(row);
  }
  EXPECT_EQ(known, listed);
  ASSERT_EQ(known.size(), 4u);
  EXPECT_EQ(known[2], "mimalloc libmimalloc.so.3 libmimalloc.so.2 libmimalloc.so.2.0");
}

TEST(AllocatorList, ANameWithoutALibraryIsRefused) {
  for (const char* text : {"", "x", "x=", "=lib.so", "x=/no/such/lib.so", "x=/proc/self/status"}) {
    EXPECT_THROW(parse_allocator("--with", text), files::command_error) << text;
  }
}

TEST(AllocatorList, WhatIsRefusedIsCalledAsItWasGiven) {
  const auto complaint = [](auto find) {
    try {
      find();
    } catch (const files::command_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      complaint([] { find_given_library("--on nosuch", "nosuch"); }),
      "--on nosuch: there is no library 'nosuch'; name its file, as libjemalloc.so.2, or its path");
  EXPECT_EQ(complaint([] { parse_allocator("--on", "x=nosuch"); }),
            "--on x=nosuch: there is no library 'nosuch'; name its file, as libjemalloc.so.2, or "
            "its path");
  EXPECT_EQ(complaint([] { parse_allocator("--on", "x="); }),
            "--on x=: expected NAME=LIBRARY, as in --on mine=./libmine.so");
}

TEST(AllocatorList, APathThatTheLoaderCannotBeToldGetsAPlainNameOnce) {
  const files::scratch_directory scratch;
  EXPECT_EQ(preloadable_name("/plain/lib.so", scratch), "/plain/lib.so");
  const std::string first = preloadable_name("/a b/lib.so", scratch);
  const std::string second = preloadable_name("/a:b/lib.so", scratch);
  for (const std::string& name : {first, second})
    EXPECT_EQ(name.find_first_of(" :$\t\n"), std::string::npos) << name;
  EXPECT_NE(first, second);
  EXPECT_EQ(preloadable_name("/a b/lib.so", scratch), first);
  EXPECT_EQ(preloadable_name("/a:b/lib.so", scratch), second);
}

TEST(AllocatorList, WhatTheLoaderCannotTakeIsFoundBeforeItMatters) {
  const signal_watch watch;
  EXPECT_NE(preload_complaint("/proc/self/status", watch), "");
  EXPECT_NE(preload_complaint("/no/such/lib.so", watch), "");
  const std::string library = find_shared_library("libc.so.6");
  ASSERT_NE(library, "");
  EXPECT_EQ(preload_complaint(library, watch), "");
}

TEST(ProgramFile, ProgramsAreFoundAsAShellFindsThem) {
  EXPECT_NE(find_program("sh").find('/'), std::string::npos);
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  const auto status_of = [](const std::string& name) {
    try {
      find_program(name);
    } catch (const files::command_error& error) {
      return error.exit_status;
    }
    return 0;
  };
  EXPECT_EQ(status_of("no-such-program-anywhere"), files::status_not_found);
  EXPECT_EQ(status_of("./no-such-program-anywhere"), files::status_not_found);
  EXPECT_EQ(status_of(""), files::status_not_found);
  EXPECT_EQ(status_of("/"), files::status_not_executable);
  EXPECT_EQ(status_of("/proc/self/status"), files::status_not_executable);
}

TEST(ProgramFile, ElfIsToldFromOtherFiles) {
  const auto own = read_elf_kind(own_executable());
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->has_interpreter);
  EXPECT_FALSE(read_elf_kind("/proc/self/status"));
  EXPECT_FALSE(read_elf_kind("/"));
  EXPECT_EQ(effect_of_preload(own_executable(), find_shared_library("libc.so.6")),
            preload_effect::works);
}

}  // namespace
}  // namespace ashlar::measure
