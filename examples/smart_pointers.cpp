// Shared objects in a pool: object and counts are one block, whose size is known at compile time, so the
// pool can be declared for it and no heap is called.
#include <cstdio>
#include <memory>
#include <new>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/smart_pointers.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

struct texture {
  explicit texture(int w) : width(w) {}
  int width;
  unsigned char pixels[256] = {};
};
constinit ashlar::static_pool<ashlar::shared_block<texture>, 2> textures;

}  // namespace

int main() {
  auto grass = ashlar::allocate_shared<texture>(textures, 16);
  auto stone = ashlar::allocate_shared<texture>(textures, 32);
  try {
    const auto third = ashlar::allocate_shared<texture>(textures, 64);
  } catch (const std::bad_alloc&) {
    std::printf("%d and %d wide; no block for a third\n", grass->width, stone->width);
  }

  // The block goes back with the last weak pointer, not with the last owner.
  std::weak_ptr<texture> seen = grass;
  grass.reset();
  std::printf("expired: %d, %zu in use\n", seen.expired() ? 1 : 0, textures.stats().blocks_in_use);
  seen.reset();
  std::printf("forgotten: %zu in use\n", textures.stats().blocks_in_use);

  // On the process heap the handle is one pointer.
  const auto own = ashlar::allocate_unique<texture>(ashlar::allocator<texture>(), 8);
  static_assert(sizeof(own) == sizeof(void*));
  return own->width == 8 ? 0 : 1;
}
