// os/not_cancelled.hpp: calls of the system that neither end their thread nor change errno.
// Layer: os. For *_posix.cpp alone.
#pragma once

#include <cerrno>

#include <pthread.h>

namespace ashlar::os {

/// While it lives, no call of the thread is a point where it is cancelled, and errno stays.
class not_cancelled {
 public:
  not_cancelled() noexcept : saved_(errno) {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
  }
  ~not_cancelled() {
    ::pthread_setcancelstate(before_, nullptr);
    errno = saved_;
  }
  not_cancelled(const not_cancelled&) = delete;
  not_cancelled& operator=(const not_cancelled&) = delete;

 private:
  int saved_;
  int before_ = 0;
};

}  // namespace ashlar::os
