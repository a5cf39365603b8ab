// The memory of one frame of a game loop: containers that live until the frame ends, in static
// storage, without a heap. The next frame finds the memory warm.
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

#include <ashlar/adapt/pmr.hpp>
#include <ashlar/arena/static_arena.hpp>

namespace {

struct entity {
  int number;
  float distance;
};

// At most 64 KiB a frame.
constinit ashlar::static_arena<64 * 1024> frame_memory;

std::size_t draw(int frame) {
  const ashlar::arena_scope scope(frame_memory);  // its end takes back what the frame allocated
  ashlar::pmr::resource memory(frame_memory);

  std::pmr::vector<const entity*> visible(&memory);
  visible.reserve(1000);  // growing would leave the smaller arrays behind until the scope ends
  for (int i = 0; i < 1000; ++i) {
    auto* const e = frame_memory.create<entity>(i, static_cast<float>(i % 100));
    if (e == nullptr) break;  // the frame is full: draw what there is
    if (e->distance < 10.0F + static_cast<float>(frame)) visible.push_back(e);
  }
  const std::pmr::string title("frame of a game with a rather long title", &memory);
  return visible.size() + (title.empty() ? 1 : 0);
}

}  // namespace

int main() {
  for (int frame = 0; frame < 3; ++frame) {
    std::printf("frame %d: %zu visible\n", frame, draw(frame));
  }
  const ashlar::arena_stats stats = frame_memory.stats();
  std::printf("%zu bytes in use, at most %zu of %zu\n", stats.used_bytes, stats.peak_bytes,
              stats.capacity_bytes);
  return stats.used_bytes == 0 ? 0 : 1;
}
