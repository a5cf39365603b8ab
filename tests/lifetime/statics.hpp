// lifetime/statics.hpp: an object whose constructor allocates and whose destructor checks and
// frees. statics_a.cpp to statics_d.cpp and statics_main.cpp define static ones, whose order among the
// files is the linker's: whoever comes first starts the heap, whoever goes last still uses it. The
// program is linked twice, the second time in the reverse order.
#pragma once

#include <cstdint>
#include <tests/support/face.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/require.hpp>

namespace statics {

inline constexpr int object_count = 13;  ///< static holders in all files together
inline constexpr int block_count = 200;

extern constinit int alive;  ///< holders constructed and not yet destroyed

class holder {
 public:
  explicit holder(std::uint64_t key) : key_(key) {
    for (int i = 0; i < block_count; ++i) {
      blocks_[i] = face::allocate(size(i));
      REQUIRE(blocks_[i] != nullptr);
      support::fill_pattern(blocks_[i], key_ + static_cast<std::uint64_t>(i), size(i));
    }
    ++alive;
  }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() {
    for (int i = 0; i < block_count; ++i) {
      REQUIRE(support::find_damage(blocks_[i], key_ + static_cast<std::uint64_t>(i), size(i)) ==
              size(i));
      face::release(blocks_[i]);
      // A destructor may allocate anew, too.
      void* late = face::allocate_zeroed(1, size(i) / 2 + 1);
      REQUIRE(late != nullptr);
      REQUIRE(support::find_nonzero(late, size(i) / 2 + 1) == size(i) / 2 + 1);
      face::release(late);
    }
    if (--alive == 0) std::puts("statics: every destructor has run");
  }

 private:
  static std::size_t size(int i) {
    return i % 50 == 49 ? 300'000 : static_cast<std::size_t>(i * i % 9973) + 1;
  }

  std::uint64_t key_;
  void* blocks_[block_count];
};

/// Blocks of one translation unit that another frees.
extern void* left_by_a;
extern void* left_by_b;

}  // namespace statics
