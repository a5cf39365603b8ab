// A pool of sessions: handles that destroy themselves, a walk over those that live, and a stated
// policy for those that are left at the end.
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include <ashlar/freestanding.hpp>

namespace {

using namespace ashlar;

struct session {
  session(int n, int s) : number(n), idle_seconds(s) {}
  ~session() { std::printf("session %d closed\n", number); }
  int number;
  int idle_seconds;
};

// The handle's type names this pool, so the handle is one pointer wide.
constinit static_pool<session, 4> sessions;
static_assert(sizeof(static_pool_ptr<sessions>) == sizeof(void*));

}  // namespace

int main() {
  {
    static_pool_ptr<sessions> kept = make_static<sessions>(1, 10);
    session* const other = sessions.create(2, 500);
    if (kept == nullptr || other == nullptr) return 1;

    // The object that is just visited may be destroyed.
    for (session& s : sessions.objects()) {
      if (s.idle_seconds > 300) sessions.destroy(&s);
    }
    std::printf("%zu left\n", sessions.stats().blocks_in_use);
  }

  // The same in bytes of the caller's, chosen at run time; it can be moved, and destroys what is
  // left in it.
  using pool_type = object_pool<session, at_death::destroy>;
  constexpr std::size_t bytes = pool_type::storage_bytes(10);
  const auto storage = std::make_unique_for_overwrite<std::byte[]>(bytes);
  pool_type pool{std::span(storage.get(), bytes)};
  if (pool.create(3, 0) == nullptr) return 1;
  pool_type moved = std::move(pool);
  std::printf("moved: %zu of %zu in use\n", moved.stats().blocks_in_use, moved.capacity());
  return 0;
}
