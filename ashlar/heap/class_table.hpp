// heap/class_table.hpp: the size classes of one heap, as tables: size -> class -> block size, slab.
// Layer: heap.
//
// The standard classes are known at compile time. A heap may have others (its `Config` names them):
// at compile time too, or loaded before its first block, which is why the table is data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

struct class_table {
  std::array<std::uint8_t, class_count> mark_shifts{};  ///< of its windows (block_sign.hpp)
  /// The least size for which no allocation hits. It stands beside the classes of small sizes.
  std::size_t hit_end = small_size_max + 1;
  /// Class of a size in granules, rounded up. 8193 bytes, of which a program touches a few lines.
  std::array<class_index, small_size_max / block_granule + 1> by_granules{};
  std::size_t count = 0;  ///< of classes, class 0 included: valid indices are below it
  /// An upper bound of the words of bitmaps that the slabs of a range can have needed, a page.
  std::size_t bit_words_per_page = 0;
  std::array<slab_shape, class_count> shapes{};
  // What hits ask of a class, side by side: an entry of `shapes` takes two instructions more.
  std::array<std::uint32_t, class_count> sizes{};     ///< block sizes again; class 0 has 0
  std::array<std::size_t, class_count> alignments{};  ///< of every block, powers of two
  /// Block sizes once more, for the hits of realloc alone, which can so be diverted.
  std::array<std::uint32_t, class_count> kept_sizes{};

  [[nodiscard]] ASHLAR_HOT constexpr std::size_t block_size(class_index c) const noexcept {
    return sizes[std::size_t{c}];
  }
  /// Whether a class can serve `size` bytes at multiples of `alignment`, a page's at most.
  [[nodiscard]] static constexpr bool serves(std::size_t size, std::size_t alignment) noexcept {
    return size <= small_size_max && alignment <= page_size;
  }
  /// Returns: the smallest class whose blocks hold `size` bytes, small_size_max at most. O(1).
  [[nodiscard]] ASHLAR_HOT constexpr class_index of_size(std::size_t size) const noexcept {
    return by_granules[(size + block_granule - 1) / block_granule];
  }
  /// Returns: the smallest class whose blocks hold `size` bytes at multiples of `alignment` when
  /// its slab starts at one, or 0 when no class does. Requires: size <= small_size_max, `alignment`
  /// a power of two or 0 (none). O(1) for the standard classes, else O(classes).
  [[nodiscard]] constexpr class_index of_aligned_size(std::size_t size,
                                                      std::size_t alignment) const noexcept {
    if (alignment <= block_granule) return of_size(size);
    if (alignment > small_size_max) return 0;
    // Among the standard classes, what holds a multiple of `alignment` is one: where blocks grow by
    // as much or more, each is a multiple of that; where by less, every multiple is a block size.
    for (std::size_t c = of_size(align_up(size == 0 ? 1 : size, alignment)); c < count; ++c)
      if (shapes[c].block_size % alignment == 0) return static_cast<class_index>(c);
    return 0;
  }
};

/// Returns: why a heap cannot have these block sizes, as the end of a sentence that begins with the
/// first wrong one (its index is left in `at`), or null when it can.
constexpr const char* what_is_wrong_with(std::span<const std::uint32_t> sizes,
                                         std::size_t& at) noexcept {
  for (at = 0; at < sizes.size(); ++at) {
    const std::uint32_t size = sizes[at];
    if (at + 1 >= class_count) return "is one class too many";
    if (size == 0 || size % block_granule != 0) return "is no multiple of 16";
    if (size > small_size_max) return "is larger than any class may be, 131072";
    if (size > shared_slab_block_max && size % 4096 != 0)
      return "is above 32768 and no multiple of 4096";
    if (at != 0 && size <= sizes[at - 1]) return "is not larger than the one before it";
  }
  if (sizes.empty() || sizes.back() != small_size_max)
    return "comes before the last block size, which must be 131072";
  return nullptr;
}

/// Returns: the table of the classes with these sizes, which are not wrong. O(small_size_max).
constexpr class_table make_class_table(std::span<const std::uint32_t> sizes) noexcept {
  class_table table;
  table.count = sizes.size() + 1;
  std::size_t granules = 0;  // class 1 also serves malloc(0), which is a block of its own
  for (std::size_t c = 1; c < table.count; ++c) {
    table.shapes[c] = slab_shape_of(sizes[c - 1]);
    table.sizes[c] = table.kept_sizes[c] = sizes[c - 1];
    // A slab starts at a page and promises no more.
    table.alignments[c] = std::min(std::size_t{sizes[c - 1] & -sizes[c - 1]}, page_size);
    table.mark_shifts[c] = mark_shift_of(sizes[c - 1]);
    for (; granules * block_granule <= sizes[c - 1]; ++granules)
      table.by_granules[granules] = static_cast<class_index>(c);
  }
  // Bitmaps are recycled by exact length, so over time each length may come to cover the whole
  // range: what is reserved (addresses only) is the sum over the lengths.
  constexpr std::size_t unit = 1024;  // fractions of a word a page, rounded up
  std::size_t sum = 0;
  for (std::size_t words = 1; words <= slab_words_max; ++words) {
    std::size_t most = 0;
    for (std::size_t c = 1; c < table.count; ++c)
      if (table.shapes[c].words == words)
        most = std::max(most, divide_up(words * unit, table.shapes[c].pages));
    sum += most;
  }
  table.bit_words_per_page = divide_up(sum, unit);
  return table;
}

inline constexpr class_table standard_classes =
    make_class_table(std::span(block_sizes).subspan<1>());
static_assert([] {
  std::size_t at = 0;
  return what_is_wrong_with(std::span(block_sizes).subspan<1>(), at) == nullptr;
}());

/// The classes of a table, for `Config::classes`: folded into the code if it is a constant. Else it
/// is read, and must not change once the heap has started.
template <const class_table& Table>
struct classes_in {
  [[nodiscard]] static constexpr const class_table& table() noexcept { return Table; }
  [[nodiscard]] static constexpr std::size_t count() noexcept { return Table.count; }
  [[nodiscard]] static constexpr std::size_t block_size(class_index c) noexcept {
    return Table.block_size(c);
  }
  /// Returns: the same for a hit that leaves a block where it is.
  [[nodiscard]] ASHLAR_HOT static constexpr std::size_t kept_size(class_index c) noexcept {
    return Table.kept_sizes[std::size_t{c}];
  }
  [[nodiscard]] static constexpr const slab_shape& shape(class_index c) noexcept {
    return Table.shapes[c];
  }
  [[nodiscard]] ASHLAR_HOT static constexpr class_index of_size(std::size_t size) noexcept {
    return Table.of_size(size);
  }
  /// Returns: the least size for which no allocation hits.
  [[nodiscard]] ASHLAR_HOT static constexpr std::size_t hit_end() noexcept {
    return small_size_max + 1;
  }
  /// Returns: what every block's address is a multiple of, a power of two.
  [[nodiscard]] ASHLAR_HOT static constexpr std::size_t alignment(class_index c) noexcept {
    return Table.alignments[std::size_t{c}];
  }
  /// Returns: the logarithm of the length of the windows of its marks.
  [[nodiscard]] ASHLAR_HOT static constexpr std::uint8_t mark_shift(class_index c) noexcept {
    return Table.mark_shifts[std::size_t{c}];
  }
  [[nodiscard]] static constexpr class_index of_aligned_size(std::size_t size,
                                                             std::size_t alignment) noexcept {
    return Table.of_aligned_size(size, alignment);
  }
  /// Returns: the class that serves `size` bytes at multiples of `alignment`, a power of two; 0
  /// when that is for the heap's `allocate_large`.
  [[nodiscard]] static constexpr class_index class_for(std::size_t size,
                                                       std::size_t alignment) noexcept {
    return class_table::serves(size, alignment) ? of_aligned_size(size, alignment) : class_index{0};
  }
};

using standard = classes_in<standard_classes>;

/// What a heap's `Config` names, or the standard classes.
template <class Config>
struct named_classes {
  using type = standard;
};
template <class Config>
  requires requires { typename Config::classes; }
struct named_classes<Config> {
  using type = typename Config::classes;
};
template <class Config>
using classes_of = typename named_classes<Config>::type;

}  // namespace ashlar::detail
