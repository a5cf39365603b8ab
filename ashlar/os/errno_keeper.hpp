// os/errno_keeper.hpp: errno stays as it was.
// Layer: os. For *_posix.cpp and the files of systems that have errno.
#pragma once

#include <cerrno>

namespace ashlar::os {

/// While it lives: an allocator's callers look at errno, and what the heap tries and survives must
/// not show there.
class errno_keeper {
 public:
  errno_keeper() noexcept : saved_(errno) {}
  ~errno_keeper() { errno = saved_; }
  errno_keeper(const errno_keeper&) = delete;
  errno_keeper& operator=(const errno_keeper&) = delete;

 private:
  int saved_;
};

}  // namespace ashlar::os
