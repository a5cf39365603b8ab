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

TEST(LoadedModule, IsFoundByTheOwnerOfItsNote) {
  // Compilers and linkers give every program notes of the owner GNU.
  EXPECT_NE(first_module_with_note("GNU").begin, nullptr);
  EXPECT_EQ(first_module_with_note("GN").begin, nullptr);
  EXPECT_EQ(first_module_with_note("nobody").begin, nullptr);
}

TEST(LoadedModule, CodeIsInASegmentWithTheFullPathAndABuildId) {
  struct {
    std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&module_around);
    std::string path;
    std::size_t id_bytes = 0, found = 0;
  } search;
  ashlar::os::for_each_code_segment(
      [](const ashlar::os::code_segment& s, void* context) {
        auto& all = *static_cast<decltype(search)*>(context);
        EXPECT_LT(s.begin, s.end);
        if (all.address < s.begin || all.address >= s.end) return;
        ++all.found;
        all.path = s.path;
        all.id_bytes = s.build_id_bytes;
      },
      &search);
  EXPECT_EQ(search.found, 1u);
  EXPECT_EQ(search.path, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_GE(search.id_bytes, 8u) << "the compilers of the presets write build ids";
}

}  // namespace
