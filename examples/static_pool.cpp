// A pool of messages that needs no heap: its storage is in the object itself, it is ready before main,
// and it says null, not abort, when it is empty.
#include <cstdio>

#include <ashlar/freestanding.hpp>

namespace {

struct message {
  explicit message(int n) : number(n) {}
  int number;
  char text[60] = {};
};

constinit ashlar::static_pool<message, 3> messages;

}  // namespace

int main() {
  message* held[4] = {};
  for (int i = 0; i < 4; ++i) {
    held[i] = messages.create(i);
    if (held[i] != nullptr)
      std::printf("message %d\n", held[i]->number);
    else
      std::printf("message %d: the pool is empty\n", i);
  }
  for (message* m : held) messages.destroy(m);  // null is fine, as for delete
  const ashlar::pool_stats stats = messages.stats();
  std::printf("%zu of %zu in use, at most %zu\n", stats.blocks_in_use, stats.capacity,
              stats.peak_in_use);
  return 0;
}
