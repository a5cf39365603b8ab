// The modules of this very process.
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

}  // namespace
