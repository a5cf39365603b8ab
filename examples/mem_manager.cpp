// The classic MemManager's program: four objects, two of them freed and made again. What it prints
// are places in the pool, #0 to #3, in the order in which they are used.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <MemManager.h>

namespace {

std::uintptr_t first = 0;

/// The number of the slot at `p`, counted from the first one that was handed out.
std::size_t place(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (first == 0) first = address;
  return (address - first) / sizeof(void*);
}

class Dummy {
 public:
  explicit Dummy(int v) : value(v) { std::printf("Dummy(%d) @#%zu\n", value, place(this)); }
  ~Dummy() { std::printf("~Dummy(%d) @#%zu\n", value, place(this)); }

  static void* operator new(std::size_t, MemManager<Dummy>& pool) {
    void* const p = pool.Allocate();
    std::printf("new(#%zu)\n", place(p));
    return p;
  }
  static void operator delete(void* p, MemManager<Dummy>& pool) {
    std::printf("delete(#%zu)\n", place(p));
    pool.Deallocate(p);
  }

 private:
  int value;
};

void end(Dummy* object, MemManager<Dummy>& pool) {
  object->~Dummy();
  Dummy::operator delete(object, pool);
}

}  // namespace

int main() {
  MemManager<Dummy> pool;
  std::vector<Dummy*> objects;
  for (int i = 0; i < 4; ++i) objects.push_back(new (pool) Dummy(i));
  for (std::size_t i = 0; i < 2; ++i) end(objects[i], pool);
  for (std::size_t i = 0; i < 2; ++i) objects[i] = new (pool) Dummy(static_cast<int>(i));
  for (Dummy* object : objects) end(object, pool);
  return 0;
}
