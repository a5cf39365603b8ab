// Tests of adapt/process_source.hpp.
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/os/system_space.hpp>

namespace {

static_assert(ashlar::populating_source<ashlar::process_source>);

TEST(ProcessSource, populates_the_whole_pages_of_a_range_and_changes_no_byte) {
  if (ashlar::detail::tools_present) GTEST_SKIP() << "a memory tool looks on";
  constexpr std::size_t bytes = std::size_t{256} << 20;  // more than other tests leave free
  constexpr std::size_t page = std::size_t{1} << ashlar::heap_page_shift;
  auto* const p = static_cast<std::byte*>(ashlar::process_source::allocate(bytes, page));
  ASSERT_NE(p, nullptr);
  p[100] = std::byte{7};
  const std::size_t before = ashlar::os::system_space::resident(p, bytes);
  ASSERT_LT(before, bytes / 4) << "the memory is fresh";
  ashlar::process_source::populate(p + 1, 2 * page - 2);  // no page is whole
  EXPECT_EQ(ashlar::os::system_space::resident(p, bytes), before);
  ashlar::process_source::populate(p + 1, bytes / 4);
  EXPECT_GE(ashlar::os::system_space::resident(p, bytes), bytes / 4 - page);
  EXPECT_EQ(p[100], std::byte{7});
  const std::size_t half = ashlar::os::system_space::resident(p, bytes);
  ashlar_seal();
  ashlar::process_source::populate(p + bytes / 2, bytes / 2);
  ashlar_unseal();
  EXPECT_EQ(ashlar::os::system_space::resident(p, bytes), half) << "sealed: no system call";
  ashlar::process_source::deallocate(p, bytes, page);
}

}  // namespace
