// The modules of this very process.
// Needs POSIX.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/os/loaded_module.hpp>

namespace {

using ashlar::os::first_module_with_note;
using ashlar::os::loaded_module;
using ashlar::os::module_around;

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

}  // namespace
