// The tests of the small sources of ashlar/os: a part for each, with its name.
// Needs POSIX.

#include <tests/support/test_headers.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <ashlar/os/last_words.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/replaced_file.hpp>
#include <ashlar/os/signals.hpp>

namespace {

using ashlar::os::first_module_with_note;
using ashlar::os::loaded_module;
using ashlar::os::module_around;
using ashlar::os::replace_file;
using ashlar::os::signal_number;

// ---- signals ------------------------------------------------------------------------------------
// Signals by name and by number, and one that comes.

TEST(Signals, HaveNamesAndNumbers) {
  EXPECT_EQ(signal_number("USR1"), SIGUSR1);
  EXPECT_EQ(signal_number("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(signal_number("12"), 12);
  for (const char* wrong :
       {"", "SIG", "usr1", "USR3", "0", "9", "19", "-1", "1x", "1000", "99999999999"})
    EXPECT_EQ(signal_number(wrong), 0) << wrong;
}

volatile std::sig_atomic_t seen = 0;

TEST(Signals, CallTheirFunction) {
  ASSERT_TRUE(ashlar::os::handle_signal(SIGUSR1, [](int number) { seen = number; }));
  ::raise(SIGUSR1);
  EXPECT_EQ(seen, SIGUSR1);
  ::signal(SIGUSR1, SIG_DFL);
}

// ---- loaded_module ------------------------------------------------------------------------------
// The modules of this very process.

TEST(LoadedModule, IsFoundByAnAddressInIt) {
  static const int here = 0;
  const loaded_module program = module_around(&here);
  ASSERT_NE(program.begin, nullptr);
  EXPECT_LE(program.begin, static_cast<const void*>(&here));
  EXPECT_TRUE(std::string_view(program.path).ends_with("os_test")) << program.path;
  EXPECT_TRUE(std::string_view(ashlar::os::path_of(&here)).ends_with("os_test"));

  const int on_the_stack = 0;
  EXPECT_EQ(module_around(&on_the_stack).begin, nullptr);
}

TEST(LoadedModule, IsFoundByTheOwnerAndTypeOfItsNote) {
  // Linkers give every program a build id, a note of the owner GNU.
  constexpr std::uint32_t build_id = 3;
  EXPECT_NE(first_module_with_note("GNU", build_id).begin, nullptr);
  EXPECT_EQ(first_module_with_note("GNU", 12345).begin, nullptr);
  EXPECT_EQ(first_module_with_note("GN", build_id).begin, nullptr);
  EXPECT_EQ(first_module_with_note("nobody", build_id).begin, nullptr);
}

TEST(LoadedModule, CodeIsInASegmentWithTheFullPathAndABuildId) {
  struct {
    std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&module_around);
    std::string path;
    std::size_t id_bytes = 0;
  } search;
  const auto visit = [](const ashlar::os::code_segment& s, void* context) {
    auto& all = *static_cast<decltype(search)*>(context);
    EXPECT_LE(s.begin, all.address);
    EXPECT_LT(all.address, s.end);
    EXPECT_LE(s.bias, s.begin);
    char room[4096];
    all.path = ashlar::os::full_path(s, room, sizeof room);
    all.id_bytes = s.build_id_bytes;
  };
  EXPECT_TRUE(
      ashlar::os::for_code_segment_at(reinterpret_cast<void*>(search.address), visit, &search));
  EXPECT_EQ(search.path, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_GE(search.id_bytes, 8u) << "the compilers of the presets write build ids";

  static int data = 0;
  EXPECT_FALSE(ashlar::os::for_code_segment_at(&data, visit, &search)) << "that is no code";
  search.address = reinterpret_cast<std::uintptr_t>(ashlar::os::code_of_program());
  search.path.clear();
  EXPECT_TRUE(ashlar::os::for_code_segment_at(ashlar::os::code_of_program(), visit, &search));
  EXPECT_EQ(search.path, std::filesystem::read_symlink("/proc/self/exe"));
}

// ---- replaced_file ------------------------------------------------------------------------------
// Files that are replaced whole, things that are no files, and paths with a place for a number.

class ReplacedFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }
  std::string folder = testing::TempDir() + "/replaced_file_test." + std::to_string(::getpid());
};

TEST_F(ReplacedFile, HasTheNewBytesAndNoOthers) {
  const std::string path = folder + "/a";
  const std::string long_text(100'000, 'x');
  const auto replace = [&](const std::string& text) {
    errno = 7;  // each time: what reads files sets it, too
    EXPECT_EQ(replace_file(path.c_str(), text.data(), text.size()), 0);
    EXPECT_EQ(errno, 7);
    EXPECT_EQ(content(path), text);
  };
  replace(long_text);
  replace("short");
  replace("");
  EXPECT_EQ(replace_file(path.c_str(), nullptr, 0), 0);
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplacedFile, StaysAsItWasAfterAnError) {
  EXPECT_EQ(replace_file((folder + "/none/a").c_str(), "x", 1), ENOENT);
  EXPECT_EQ(replace_file(folder.c_str(), "x", 1), EISDIR);
  EXPECT_EQ(replace_file(std::string(2000, 'x').c_str(), "x", 1), ENAMETOOLONG);
  EXPECT_EQ(files(), 0u);
  for (const int error : {EACCES, ENOENT, ENOTDIR, EISDIR, EROFS, ENOSPC, ENAMETOOLONG, EIO})
    EXPECT_NE(std::strlen(ashlar::os::describe_error(error)), 0u);
}

TEST_F(ReplacedFile, ADeviceIsWrittenToAndNotReplaced) {
  const std::string link = folder + "/null";
  std::filesystem::create_symlink("/dev/null", link);
  EXPECT_EQ(replace_file(link.c_str(), "x", 1), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(PathPattern, HasPlacesForTwoNumbers) {
  using ashlar::os::expand_path;
  std::array<char, 64> path{};
  EXPECT_TRUE(expand_path("a.%p.%n%.%", path.data(), path.size(), 12));
  EXPECT_EQ(std::string(path.data()), "a." + std::to_string(::getpid()) + ".12%.%");
  EXPECT_TRUE(expand_path("", path.data(), 1));
  EXPECT_FALSE(expand_path("abc", path.data(), 3)) << "no room for the end";
  EXPECT_TRUE(expand_path("abc", path.data(), 4));
  EXPECT_TRUE(ashlar::os::has_place("x%p", 'p'));
  EXPECT_FALSE(ashlar::os::has_place("x%np", 'p'));
}

// ---- last_words --------------------------------------------------------------------------------

/// Effects: ends with 0 if an attempt to write to a file that may not grow is an error.
[[noreturn]] void append_beyond_the_limit() {
  const rlimit none{0, 0};
  const bool limited = ::setrlimit(RLIMIT_FSIZE, &none) == 0;
  const std::string path = testing::TempDir() + "last_words." + std::to_string(::getpid());
  const bool refused = ashlar::os::append_to_file(path.c_str(), "x", 1) == EFBIG;
  ::unlink(path.c_str());
  ::_exit(limited && refused ? 0 : 1);
}

TEST(LastWordsDeathTest, AFileThatMayGrowNoMoreIsAnErrorAndNoSignal) {
  EXPECT_EXIT(append_beyond_the_limit(), testing::ExitedWithCode(0), "");
}

}  // namespace
