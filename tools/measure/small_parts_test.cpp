// The tests of the sources of tools/measure: a part for each, with its name.
#include <tests/support/test_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <elf.h>

#include "tools/files/error.hpp"
#include "tools/measure/comparison_samples_test.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::measure {
namespace {

// ---- allocator_list ----------------------------------------------------------------------------

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
      row.append(" ").append(library.get<std::string>());
    listed.push_back(row);
  }
  std::vector<std::string> known;
  for (const known_allocator& each : known_allocators()) {
    std::string row(each.name);
    for (const std::string_view library : each.libraries) row.append(" ").append(library);
    known.push_back(row);
  }
  EXPECT_EQ(known, listed);
  ASSERT_EQ(known.size(), 4u);
  EXPECT_EQ(known[2], "mimalloc libmimalloc.so.3 libmimalloc.so.2 libmimalloc.so.2.0");
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

TEST(ProgramFile, ElfIsToldFromOtherFiles) {
  const auto own = read_elf_kind(own_executable());
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->has_interpreter);
  EXPECT_FALSE(read_elf_kind("/proc/self/status"));
  EXPECT_FALSE(read_elf_kind("/"));
  // Not of this program: built with a sanitizer it has a malloc of its own.
  EXPECT_EQ(effect_of_preload("/bin/sh", find_shared_library("libc.so.6")), preload_effect::works);
}

// ---- child_process -----------------------------------------------------------------------------

child_request shell(const std::string& script) {
  child_request request;
  request.file = "/bin/sh";
  request.arguments = {"sh", "-c", script};
  request.environment = environment_with({});
  return request;
}

TEST(ChildProcess, ItsFiguresAreItsOwn) {
  // This process's own memory must not be charged to the child (see run_child about vfork).
  std::vector<char> ballast(200u << 20, 'x');
  const signal_watch watch;
  const child_outcome outcome = run_child(shell("sleep 0.05"), watch);
  EXPECT_GE(outcome.wall_seconds, 0.05);
  EXPECT_GT(outcome.peak_rss_bytes, 0u);
  EXPECT_EQ(ballast[100], 'x');
  EXPECT_GT(outcome.minor_faults, 0u);
}

TEST(ChildProcess, ASecondSignalKillsWhereThatIsAsked) {
  const signal_watch watch;
  child_request request = shell(
      "trap '' INT; kill -INT $PPID; sleep 0.2; kill -INT $PPID; while :; do sleep 0.01; done");
  request.on_signal = interrupted_child::dies_at_second;
  const child_outcome outcome = run_child(request, watch);
  EXPECT_EQ(describe_wait_status(outcome.wait_status), "killed by SIGKILL (Killed)");
  EXPECT_EQ(outcome.signal_seen, SIGINT);
}

TEST(ChildProcess, AnIgnoredSignalStaysIgnored) {
  struct sigaction ignored{};
  struct sigaction before{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignored, &before);
  {
    const signal_watch watch;
    const child_outcome outcome = run_child(shell("kill -HUP $$; kill -HUP $PPID; exit 5"), watch);
    EXPECT_TRUE(exited_with(outcome.wait_status, 5));
    EXPECT_EQ(outcome.signal_seen, 0);
  }
  ::sigaction(SIGHUP, &before, nullptr);
}

TEST(ChildProcess, TheEnvironmentHasEveryNameOnce) {
  ::setenv("ASHLAR_TEST_NAME", "old", 1);
  const auto environment = environment_with(
      {{"ASHLAR_TEST_NAME", "a"}, {"ASHLAR_TEST_NAME", "b"}, {"ASHLAR_TEST", "c"}});
  ::unsetenv("ASHLAR_TEST_NAME");
  EXPECT_EQ(std::ranges::count(environment, "ASHLAR_TEST_NAME=b"), 1);
  EXPECT_EQ(std::ranges::count(environment, "ASHLAR_TEST=c"), 1);
  EXPECT_EQ(
      std::ranges::count_if(
          environment, [](const auto& entry) { return entry.starts_with("ASHLAR_TEST_NAME="); }),
      1);
}

// ---- comparison --------------------------------------------------------------------------------

TEST(Comparison, QuotesMediansOfMeasuredRunsAndRatiosToTheFirst) {
  const comparison compared = two_allocators();
  const allocator_summary base = summarise(compared, compared.allocators[0]);
  EXPECT_EQ(base.runs, 3u);
  EXPECT_EQ(base.wall_seconds.median, 2);
  EXPECT_EQ(base.wall_seconds.max, 3);  // the warm-up run's 9 is not in it
}

TEST(Comparison, ARunThatFailedIsMarkedAndNotQuoted) {
  comparison compared = two_allocators();
  compared.allocators[1].samples.push_back(sample(0.001, 1, SIGSEGV));
  const allocator_summary summary = summarise(compared, compared.allocators[1]);
  EXPECT_FALSE(summary.quotable());
  EXPECT_FALSE(comparison_json(compared)["allocators"][1].contains("wall_seconds"));
  EXPECT_EQ(comparison_json(compared)["allocators"][1]["samples"].size(), 4u);
}

TEST(Comparison, AFailureInTheWarmUpCountsToo) {
  comparison compared = two_allocators();
  compared.allocators[1].samples[0].outcome.wait_status = 1 << 8;
  EXPECT_FALSE(summarise(compared, compared.allocators[1]).quotable());
}

TEST(Comparison, AFailedBaselineLeavesNoRatio) {
  comparison compared = two_allocators();
  compared.allocators[0].samples[1].outcome.wait_status = 1 << 8;
  EXPECT_TRUE(comparison_json(compared)["allocators"][1]["wall_seconds"]["ratio"].is_null());
}

TEST(Comparison, WhatJsonHoldsIsReadBackForTheSummary) {
  const stored_comparison stored = parse_comparison(comparison_json(two_allocators()).dump(), "x");
  ASSERT_EQ(stored.allocators.size(), 2u);
  EXPECT_EQ(stored.label, "work, \"quoted\"");
  EXPECT_EQ(stored.allocators[1].peak_rss_bytes.median, 1 << 21);
  EXPECT_THROW(parse_comparison("{}", "x"), files::command_error);
  EXPECT_THROW(parse_comparison("{", "x"), files::command_error);
  EXPECT_THROW(parse_comparison("[1]", "x"), files::command_error);
}

TEST(Comparison, NumbersThatAreNoCountsAreErrors) {
  nlohmann::json document = comparison_json(two_allocators());
  for (const nlohmann::json& wrong :
       {nlohmann::json(1e40), nlohmann::json(-1), nlohmann::json(1.5)}) {
    nlohmann::json damaged = document;
    damaged["schema"] = wrong;
    EXPECT_THROW(parse_comparison(damaged.dump(), "x"), files::command_error) << wrong;
    damaged = document;
    damaged["allocators"][0]["runs"] = wrong;
    EXPECT_THROW(parse_comparison(damaged.dump(), "x"), files::command_error) << wrong;
  }
}

// ---- program_file ------------------------------------------------------------------------------

using StaticProgram = support::TestFolder;

/// A program that no loader runs, with one note.
std::string program_with_note(std::string_view owner, std::uint32_t type) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Nhdr note{};
    char owner[4] = {};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_EXEC;
  file.header.e_version = EV_CURRENT;
  file.header.e_phoff = sizeof file.header;
  file.header.e_phentsize = sizeof file.segment;
  file.header.e_phnum = 1;
  file.segment.p_type = PT_NOTE;
  file.segment.p_offset = sizeof file.header + sizeof file.segment;
  file.segment.p_filesz = sizeof file.note + sizeof file.owner;
  file.note.n_type = type;
  file.note.n_namesz = sizeof file.owner;
  std::memcpy(file.owner, owner.data(), owner.size());
  return {reinterpret_cast<const char*>(&file), sizeof file};
}

TEST_F(StaticProgram, OfGoIsToldFromOthers) {
  constexpr std::uint32_t go_build = 4;
  const std::string go = program_with_note("Go", go_build);
  const auto effect_of = [&](const std::string& bytes) {
    support::write_file(path("program"), bytes);
    return effect_of_preload(path("program"), "/no/such/library.so");
  };
  EXPECT_EQ(effect_of(go), preload_effect::ignored_go);
  EXPECT_EQ(effect_of(program_with_note("Go", NT_GNU_BUILD_ID)), preload_effect::ignored_static);
  EXPECT_EQ(effect_of(program_with_note("GNU", go_build)), preload_effect::ignored_static);
  EXPECT_EQ(effect_of(go.substr(0, go.size() - 1)), preload_effect::ignored_static);
  EXPECT_NE(describe(preload_effect::ignored_go).find("does not call malloc"), std::string::npos);
}

/// A program that a loader runs, which has one symbol of that name, in that section.
std::string program_with_symbol(std::string_view name, Elf64_Section section) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Shdr sections[3] = {};
    Elf64_Sym symbol{};
    char name[16] = {};
  } file;
  const std::string head = program_with_note("", 0);
  std::memcpy(&file.header, head.data(), sizeof file.header);
  file.header.e_shoff = sizeof file.header + sizeof file.segment;
  file.header.e_shentsize = sizeof file.sections[0];
  file.header.e_shnum = 3;
  file.segment.p_type = PT_INTERP;
  file.sections[1].sh_type = SHT_DYNSYM;
  file.sections[1].sh_offset = file.header.e_shoff + sizeof file.sections;
  file.sections[1].sh_size = file.sections[1].sh_entsize = sizeof file.symbol;
  file.sections[1].sh_link = 2;
  file.sections[2].sh_type = SHT_STRTAB;
  file.sections[2].sh_offset = file.sections[1].sh_offset + sizeof file.symbol;
  file.sections[2].sh_size = sizeof file.name;
  file.symbol.st_shndx = section;
  std::memcpy(file.name, name.data(), name.size());
  return {reinterpret_cast<const char*>(&file), sizeof file};
}

using DynamicProgram = support::TestFolder;

TEST_F(DynamicProgram, ItsOwnMallocComesFirst) {
  const auto effect_of = [&](std::string_view name, Elf64_Section section) {
    support::write_file(path("program"), program_with_symbol(name, section));
    return effect_of_preload(path("program"), "/no/such/library.so");
  };
  EXPECT_EQ(effect_of("malloc", 1), preload_effect::ignored_own_malloc);
  EXPECT_EQ(effect_of("malloc", SHN_UNDEF), preload_effect::works);
  EXPECT_EQ(effect_of("malloc_trim", 1), preload_effect::works);
  EXPECT_NE(describe(preload_effect::ignored_own_malloc).find("malloc of its own"),
            std::string::npos);
}

TEST_F(DynamicProgram, AnotherCLibrarysLoaderIsTold) {
  const auto effect_of = [&](std::string_view loader) {
    std::string bytes = program_with_symbol("free", SHN_UNDEF);
    Elf64_Phdr segment{};
    segment.p_type = PT_INTERP;
    segment.p_offset = bytes.size();
    segment.p_filesz = loader.size() + 1;
    std::memcpy(&bytes[sizeof(Elf64_Ehdr)], &segment, sizeof segment);
    support::write_file(path("program"), bytes + std::string(loader) + '\0');
    return effect_of_preload(path("program"), "/no/such/library.so");
  };
  EXPECT_EQ(effect_of("/lib64/ld-linux-x86-64.so.2"), preload_effect::works);
  EXPECT_EQ(effect_of("/lib/ld-musl-x86_64.so.1"), preload_effect::other_c_library);
}

// ---- rounds ------------------------------------------------------------------------------------

TEST(SampleStatistics, AreTheSameForEveryOrderOfTheSamples) {
  std::vector<double> samples{4, 1, 3, 2, 10};
  std::ranges::sort(samples);
  do {
    const spread values = spread_of(samples);
    ASSERT_EQ(values.median, 3);
    ASSERT_EQ(values.min, 1);
    ASSERT_EQ(values.max, 10);
    ASSERT_EQ(values.count, 5u);
  } while (std::next_permutation(samples.begin(), samples.end()));
}

TEST(SampleStatistics, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(spread_of({4, 1, 2, 100}).median, 3);
  EXPECT_EQ(spread_of({7}).median, 7);
  EXPECT_EQ(spread_of({}).count, 0u);
}

TEST(SampleStatistics, ARatioToNothingIsNothing) {
  EXPECT_EQ(ratio_to(3, 2), 1.5);
  EXPECT_EQ(ratio_to(3, 0), 0);
}

TEST(Rounds, EveryOrderComesUpAndASeedRepeatsIt) {
  std::mt19937_64 generator(1);
  std::mt19937_64 again(1);
  std::set<std::vector<std::size_t>> orders;
  for (int i = 0; i < 1000; ++i) {
    const auto order = shuffled_order(4, generator);
    ASSERT_EQ(order, shuffled_order(4, again));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 24u);
}

}  // namespace

}  // namespace ashlar::measure
