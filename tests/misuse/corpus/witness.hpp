// misuse/corpus/witness.hpp: knows what is live, and says when it changed or was handed out again.
// Takes no memory from any heap: the heap is what is under test.
//
// What a program of the corpus says is as in ../malloc_faults.c, and besides:
//   seen TEXT            what a read of bytes that nobody owns or has written found
//   inapplicable TEXT    the component has no such call
#pragma once

#include <cstddef>

namespace corpus {

/// Writes "| label text", and an address if one is given.
void say(const char* label, const char* text, const void* address = nullptr) noexcept;

class witness {
 public:
  /// Effects: [p, p + size) is live: its ends are filled with a pattern of its own. Says damage, and fills nothing, if a byte of
  /// it is live already. Returns: whether it was free.
  bool acquire(void* p, std::size_t size) noexcept;
  /// Effects: the block at `p` is no longer live; its bytes stay. Nothing if there is none.
  void forget(const void* p) noexcept;
  /// Effects: says damage for each live block that changed, once.
  void verify() noexcept;
  /// Effects: says damage.
  void damage(const char* text, const void* address = nullptr) noexcept;
  [[nodiscard]] bool has_damage() const noexcept { return has_damage_; }
  [[nodiscard]] bool is_live(const void* p) const noexcept;

 private:
  struct entry {
    unsigned char* begin = nullptr;  ///< null: free
    std::size_t size = 0;
    unsigned char seed = 0;
  };
  static constexpr std::size_t entries_max = 256;
  entry entries_[entries_max];
  unsigned char next_seed_ = 1;
  bool has_damage_ = false;
};

}  // namespace corpus
