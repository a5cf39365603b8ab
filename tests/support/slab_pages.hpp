// tests/support/slab_pages.hpp: for tests of slabs whose pages leave one by one.
#pragma once

#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/slab.hpp>

namespace ashlar::test {

/// Whether slabs of small blocks have several pages. Where the heap's page is 64 KiB they have one,
/// and no page leaves while one of its blocks is in use.
inline constexpr bool small_slabs_have_pages =
    detail::may_be_hollow(detail::standard_classes.shapes[detail::standard_classes.of_size(256)]);
inline constexpr const char* slabs_of_one_page = "slabs of small blocks have one page";

}  // namespace ashlar::test
