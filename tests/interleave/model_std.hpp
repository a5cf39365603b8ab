// interleave/model_std.hpp: atomics of the scheduler's, in the place of the standard library's, for ashlar's code only.
// To be included before any header of ashlar, in every source of the program.
//
// Inside namespace ashlar the name `std` is looked up there first. So a namespace ashlar::std that has its own atomic
// and atomic_ref, and takes everything else from ::std, makes the shipped headers run on the model's atomics as they
// are, word for word: no parameter of theirs is for this test, and none can cost the shipped code anything.
// A program that does so must not be linked with libashlar: it has the same templates over other atomics.
#pragma once

#include <atomic>
#include <tests/interleave/scheduler.hpp>
#include <type_traits>

namespace interleave {

inline bool acquires(std::memory_order order) noexcept {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
inline bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

template <class T>
T load(const T& value, std::memory_order order) noexcept {
  before_load(&value);
  if (acquires(order)) acquired(&value);
  return value;
}

template <class T>
void store(T& value, T desired, std::memory_order order) noexcept {
  before(&value, access::write);
  if (releases(order)) {
    released(&value, false);
  } else {
    overwritten(&value);
  }
  value = desired;
  changed(&value);
}

/// Returns: what the value was before it became change(value).
template <class T, class Change>
T modify(T& value, Change change, std::memory_order order) noexcept {
  before(&value, access::write);
  if (acquires(order)) acquired(&value);
  if (releases(order)) released(&value, true);
  const T old = value;
  value = change(old);
  if (value != old)
    interleave::changed(&value);  // writing the same again gives waiters nothing new
  return old;
}

template <class T>
bool compare_exchange(T& value, T& expected, T desired, std::memory_order success,
                      std::memory_order failure) noexcept {
  before(&value, access::write);
  const bool equal = value == expected;
  if (acquires(equal ? success : failure)) acquired(&value);
  if (!equal) {
    expected = value;
    return false;
  }
  if (releases(success)) released(&value, true);
  value = desired;
  changed(&value);
  return true;
}

/// What atomic and atomic_ref have in common; `Self` has value(), a reference.
template <class Self, class T>
class atomic_face {
 public:
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return interleave::load(at(), order);
  }
  void store(T desired, std::memory_order order = std::memory_order_seq_cst) const noexcept {
    interleave::store(at(), desired, order);
  }
  T exchange(T desired, std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return modify(at(), [&](T) { return desired; }, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) const noexcept {
    return compare_exchange(at(), expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return compare_exchange(at(), expected, desired, order, without_release(order));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) const noexcept {
    return compare_exchange(at(), expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return compare_exchange(at(), expected, desired, order, without_release(order));
  }
  T fetch_add(T n, std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return modify(at(), [&](T old) { return static_cast<T>(old + n); }, order);
  }
  T fetch_sub(T n, std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return modify(at(), [&](T old) { return static_cast<T>(old - n); }, order);
  }
  T operator++() const noexcept { return static_cast<T>(fetch_add(1) + 1); }
  T operator--() const noexcept { return static_cast<T>(fetch_sub(1) - 1); }
  T operator+=(T n) const noexcept { return static_cast<T>(fetch_add(n) + n); }
  operator T() const noexcept { return load(); }  // NOLINT: as the standard's

 private:
  [[nodiscard]] T& at() const noexcept { return static_cast<const Self&>(*this).value(); }
  static constexpr std::memory_order without_release(std::memory_order order) {
    return order == std::memory_order_acq_rel   ? std::memory_order_acquire
           : order == std::memory_order_release ? std::memory_order_relaxed
                                                : order;
  }
};

}  // namespace interleave

namespace ashlar::std {  // NOLINT: see the head of this file

using namespace ::std;  // NOLINT

/// As large as its value, and all zero bits where that is: ashlar's layouts stay what they are.
template <class T>
class atomic : public interleave::atomic_face<atomic<T>, T> {
 public:
  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : value_(value) {}  // NOLINT: as the standard's
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T desired) noexcept {  // NOLINT: as the standard's
    this->store(desired);
    return desired;
  }
  [[nodiscard]] T& value() const noexcept { return value_; }

 private:
  mutable T value_{};
};

template <class T>
class atomic_ref : public interleave::atomic_face<atomic_ref<T>, T> {
 public:
  explicit atomic_ref(T& value) noexcept : value_(value) {}
  [[nodiscard]] T& value() const noexcept { return value_; }

 private:
  T& value_;
};

}  // namespace ashlar::std
