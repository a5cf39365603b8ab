// xallocator/holder.hpp: an object that uses xmalloc from its constructor to its destructor. Three files
// define static ones, whose order the linker chooses; one of the files knows nothing of automatic init.
#pragma once

#include <tests/support/require.hpp>

#include <ashlar/adapt/xmalloc.h>

inline constinit int alive = 0;  ///< holders constructed and not yet destroyed
inline constexpr int holder_count = 8;

class holder {
 public:
  explicit holder(unsigned char fill) : fill_(fill) {
    for (std::size_t i = 0; i < block_count; ++i) {
      blocks_[i] = static_cast<unsigned char*>(xmalloc(size(i)));
      REQUIRE(blocks_[i] != nullptr);
      std::memset(blocks_[i], fill_, size(i));
    }
    ++alive;
  }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() {
    for (std::size_t i = 0; i < block_count; ++i) {
      for (std::size_t k = 0; k < size(i); ++k) REQUIRE(blocks_[i][k] == fill_);
      blocks_[i] = static_cast<unsigned char*>(xrealloc(blocks_[i], size(i) + 300));
      REQUIRE(blocks_[i] != nullptr && blocks_[i][0] == fill_);
      xfree(blocks_[i]);
      void* const late = xcalloc(1, size(i));
      REQUIRE(late != nullptr);
      xfree(late);
    }
    if (--alive == 0) {
      std::puts("every destructor has run");
      std::fflush(stdout);
    }
  }

 private:
  static constexpr std::size_t block_count = 3;
  static constexpr std::size_t size(std::size_t i) { return 10 + 130 * i; }

  unsigned char fill_;
  unsigned char* blocks_[block_count];
};
