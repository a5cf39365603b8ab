// operator new and delete for a class and all that derive from it, without a macro: on the process heap,
// or in a pool of the class's own.
#include <cstdio>
#include <memory>
#include <new>

#include <ashlar/adapt/class_new.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

struct shape : ashlar::heap_allocated<shape> {
  virtual ~shape() = default;
  [[nodiscard]] virtual const char* name() const { return "shape"; }
};
struct polygon : shape {
  [[nodiscard]] const char* name() const override { return "polygon"; }
  double corners[16] = {};
};

// The pool is named before the class is complete, and has its storage inside.
struct event;
extern constinit ashlar::static_pool<event, 3> events;
struct event : ashlar::pooled<event, events> {
  explicit event(int n) : number(n) {}
  int number;
};
constinit ashlar::static_pool<event, 3> events;

}  // namespace

int main() {
  const std::unique_ptr<shape> s = std::make_unique<polygon>();
  std::printf("%s\n", s->name());

  std::unique_ptr<event> kept[4];
  int made = 0;
  try {
    for (auto& e : kept) e = std::make_unique<event>(++made);
  } catch (const std::bad_alloc&) {
    std::printf("event %d: no block left, %zu in use\n", made, events.stats().blocks_in_use);
  }
  // The nothrow form says null.
  const event* const another = new (std::nothrow) event(5);
  for (auto& e : kept) e.reset();
  std::printf("%s; %zu in use\n", another == nullptr ? "null" : "?", events.stats().blocks_in_use);
  return 0;
}
