// os/frame_walk_none.cpp: os/frame_walk.hpp where no rules are known.
// Layer: os.
#include <ashlar/os/frame_walk.hpp>

namespace ashlar::os {

walk_result walk_frames(const void**, unsigned) noexcept {
  return {0, walk_end::unknown};
}
bool can_be_read(const void*, std::size_t) noexcept {
  return true;
}

}  // namespace ashlar::os
