// core/sealable_source.hpp: a page source that can be closed: get all memory while starting, then
// nothing more.
// Layer: core (freestanding).
//
//   constinit ashlar::sealable_source<my_pages> pages;
//   ashlar::fixed_pool<ashlar::source_ref<decltype(pages)>> pool({48, 8}, ashlar::heap_blocks{},
//                                                                pages);
//   ...
//   pages.seal();    // from here on the pool has the blocks it has
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/core/page_source.hpp>

namespace ashlar {

/// `Source` until seal(); then nothing. What goes back goes to `Source`, before and after.
/// Thread-safety: that of `Source` for pieces; seal() and unseal() when nobody asks for one.
template <page_source Source>
class sealable_source {
 public:
  constexpr sealable_source() noexcept = default;
  constexpr explicit sealable_source(Source source) noexcept : source_(std::move(source)) {}

  /// Returns: as Source::allocate; null when sealed.
  [[nodiscard]] void* allocate(std::size_t size_bytes, std::size_t alignment) noexcept {
    if (sealed_) {
      ++refused_;
      return nullptr;
    }
    return source_.allocate(size_bytes, alignment);
  }
  void deallocate(void* p, std::size_t size_bytes, std::size_t alignment) noexcept {
    source_.deallocate(p, size_bytes, alignment);
  }

  void seal() noexcept { sealed_ = true; }
  void unseal() noexcept { sealed_ = false; }
  [[nodiscard]] bool is_sealed() const noexcept { return sealed_; }
  /// Returns: how many requests came while it was sealed: 0 at the end of a run says that the start
  /// got enough.
  [[nodiscard]] std::size_t refused() const noexcept { return refused_; }

 private:
  bool sealed_ = false;
  std::size_t refused_ = 0;
  [[no_unique_address]] Source source_{};
};

}  // namespace ashlar
