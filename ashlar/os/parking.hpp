// os/parking.hpp: where threads sleep until a word changes, on systems without a documented futex.
// Layer: os. For *_posix.cpp alone.
//
// A few POSIX mutexes with a condition variable each. The address of a word says which one its
// waiters share. So a lock of the library stays four bytes, and needs no initialisation.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pthread.h>

#include <ashlar/os/not_cancelled.hpp>

namespace ashlar::os {

/// One place to sleep. Of static storage.
struct parking_place {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

/// Returns: the place for the waiters of the word at `address`. In the child of a fork all places
/// are empty.
[[nodiscard]] parking_place& place_for(const void* address) noexcept;

/// While it lives, the calling thread has the place of a word: no other thread goes to sleep there
/// or wakes one, and this one is not cancelled. Keeps errno.
class parking {
 public:
  explicit parking(const void* address) noexcept : place_(place_for(address)) {
    ::pthread_mutex_lock(&place_.mutex);
  }
  ~parking() { ::pthread_mutex_unlock(&place_.mutex); }
  parking(const parking&) = delete;
  parking& operator=(const parking&) = delete;

  /// Effects: sleeps until a wake_all at this place, or for `ms`; less than 0: for ever. May return
  /// earlier.
  void wait(std::int64_t ms) noexcept;

  void wake_all() noexcept { ::pthread_cond_broadcast(&place_.changed); }

 private:
  not_cancelled here_;
  parking_place& place_;
};

}  // namespace ashlar::os
