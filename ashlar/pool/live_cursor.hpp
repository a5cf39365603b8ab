// pool/live_cursor.hpp: the blocks in use, one after the other.
// Layer: pool (freestanding). Not for users: pools have for_each() and objects().
// Law: only the states are read, never a block. So freeing any block, the one just visited
// included, leaves a cursor right; a block that is taken meanwhile may be visited or not.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar::detail {

/// Requires: the run tracks states, and stays where it is.
template <class Run>
class live_cursor {
  static_assert(Run::traits::tracks_state);

 public:
  live_cursor() noexcept = default;
  explicit live_cursor(const Run& run) noexcept : run_(&run), at_(run.first_run()) {}

  /// Returns: the next block in use, or null after the last one. Requires: nobody else calls the
  /// pool meanwhile, or its lock is held, or it is lock_free. Amortised O(1) a block.
  [[nodiscard]] std::byte* next() noexcept {
    for (;;) {
      for (; index_ < at_.view.carved; ++index_) {
        if (at_.view.template is_live<typename Run::traits>(index_)) {
          return const_cast<std::byte*>(at_.view.base) + index_++ * at_.view.stride;
        }
      }
      if constexpr (requires { run_->run_of(at_.older); }) {
        if (at_.older != nullptr) {
          at_ = run_->run_of(at_.older);
          index_ = 0;
          continue;
        }
      }
      return nullptr;
    }
  }

 private:
  const Run* run_ = nullptr;
  run_cursor at_{};
  std::size_t index_ = 0;
};

/// Forward iterator over objects. Iterators are equal when they are at the same object.
template <class T, class Run>
class object_iterator {
 public:
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;
  using iterator_category = std::forward_iterator_tag;

  object_iterator() noexcept = default;
  explicit object_iterator(const Run& run) noexcept : cursor_(run) { ++*this; }

  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
  object_iterator& operator++() noexcept {
    object_ = reinterpret_cast<T*>(cursor_.next());
    return *this;
  }
  object_iterator operator++(int) noexcept {
    object_iterator before = *this;
    ++*this;
    return before;
  }
  [[nodiscard]] bool operator==(const object_iterator& other) const noexcept {
    return object_ == other.object_;
  }

 private:
  live_cursor<Run> cursor_;
  T* object_ = nullptr;
};

template <class T, class Run>
class object_range {
 public:
  explicit object_range(const Run& run) noexcept : run_(&run) {}
  [[nodiscard]] object_iterator<T, Run> begin() const noexcept {
    return object_iterator<T, Run>(*run_);
  }
  [[nodiscard]] object_iterator<T, Run> end() const noexcept { return {}; }

 private:
  const Run* run_;
};

}  // namespace ashlar::detail
