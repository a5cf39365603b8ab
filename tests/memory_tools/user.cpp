// A user's program with threads, built with a sanitizer by user_builds.py while the library it
// links was not.
// Usage: user_program proper_use | data_race | overflow | use_after_free
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include <ashlar/ashlar.hpp>

namespace {

constexpr int rounds = 1500;
constexpr std::size_t threads = 4;

template <class Work>
void run_threads(Work work) {
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) running.emplace_back(work, i);
  for (std::thread& t : running) t.join();
}

struct item {
  explicit item(long n) noexcept : number(n) {}
  long number;
  char text[40] = "an item";
};

/// Blocks that threads take from each other, so that what one frees another allocated.
template <class Make, class End>
void exchange(Make make, End end) {
  std::mutex mutex;
  std::vector<item*> shared;
  run_threads([&](std::size_t thread) {
    for (int i = 0; i < rounds; ++i) {
      item* mine = make(static_cast<long>(thread) + i);
      if (mine == nullptr) std::abort();
      ++mine->number;
      item* theirs = nullptr;
      {
        const std::lock_guard guard(mutex);
        if (!shared.empty()) {
          theirs = shared.back();
          shared.pop_back();
        }
        shared.push_back(mine);
        if (shared.size() < 200 && i % 3 != 0 && theirs != nullptr) {
          shared.push_back(theirs);
          theirs = nullptr;
        }
      }
      if (theirs != nullptr) {
        theirs->text[0] = 'x';
        end(theirs);
      }
      if (i % 500 == 0) {  // many at once, so that caches overflow and what one gives another takes
        std::vector<item*> some(600);
        for (item*& p : some) p = make(i);
        for (item* p : some) end(p);
      }
    }
  });
  for (item* p : shared) end(p);
}

void use_xmalloc() {
  exchange(
      [](long n) {
        void* const p = xmalloc(sizeof(item) + static_cast<std::size_t>(n % 7) * 100);
        return ::new (p) item(n);
      },
      [](item* p) { xfree(p); });
  run_threads([](std::size_t thread) {
    for (std::size_t i = 1; i < 200; ++i) {
      auto* p = static_cast<char*>(xcalloc(i, 3));
      p = static_cast<char*>(xrealloc(p, i * 900 + thread));
      std::memset(p, 1, i * 900);
      xfree(p);
      xfree(xaligned_alloc(128, i));
    }
  });
}

void use_containers() {
  run_threads([](std::size_t thread) {
    std::map<int, std::string, std::less<>, ashlar::allocator<std::pair<const int, std::string>>> m;
    std::vector<long, ashlar::allocator<long>> v;
    for (int i = 0; i < rounds; ++i) {
      m[i % 97] = std::string(static_cast<std::size_t>(i % 50), 'a');
      v.push_back(i + static_cast<long>(thread));
    }
  });
}

void use_heap_instance() {
  ashlar::heap<> memory({.budget_bytes = 64 << 20, .name = "shared"});
  exchange([&](long n) { return ::new (memory.allocate(sizeof(item))) item(n); },
           [&](item* p) { memory.deallocate(p); });
  ashlar::heap<ashlar::check::full<16>> checked({.budget_bytes = 64 << 20, .name = "checked"});
  exchange([&](long n) { return ::new (checked.allocate(sizeof(item))) item(n); },
           [&](item* p) { checked.deallocate(p); });
}

ashlar::static_pool<item, 20'000, ashlar::os::mutex, ashlar::named<"static">> static_items;

void use_pools() {
  exchange([](long n) { return static_items.create(n); }, [](item* p) { static_items.destroy(p); });
  ashlar::object_pool<item, ashlar::process_source, ashlar::os::mutex> growing(
      ashlar::heap_blocks{256});
  exchange([&](long n) { return growing.create(n); }, [&](item* p) { growing.destroy(p); });
}

void use_arenas() {
  run_threads([](std::size_t) {
    ashlar::arena<ashlar::process_source> memory;
    for (int i = 0; i < rounds; ++i) {
      const ashlar::arena_scope scope(memory);
      memory.create<item>(i)->number = i;
    }
  });
}

/// The rest of the interface, of a process heap that serves nobody.
void use_figures() {
  char* const p = static_cast<char*>(xmalloc(10));
  if (xusable_size(p) != 10) std::abort();
  ashlar_stats stats;
  ashlar_stats_get(&stats);
  static_cast<void>(ashlar_trim());
  static_cast<void>(ashlar_prefault(1 << 20, 2));
  ashlar_seal();
  ashlar_unseal();
  static_cast<void>(ashlar_check_blocks());
  xfree(p);
}

// ---- mistakes ---------------------------------------------------------------------------------------

void race() {
  auto* const p = static_cast<item*>(xmalloc(sizeof(item)));
  run_threads([p](std::size_t thread) { p->number = static_cast<long>(thread); });
  xfree(p);
  ashlar::heap<> memory;
  auto* const q = static_cast<item*>(memory.allocate(sizeof(item)));
  run_threads([q](std::size_t thread) { q->text[1] = static_cast<char>(thread); });
  memory.deallocate(q);
}

volatile char seen;

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "proper_use") {
    use_xmalloc();
    use_containers();
    use_heap_instance();
    use_pools();
    use_arenas();
    use_figures();
  } else if (what == "data_race") {
    race();
  } else {
    auto* const p = static_cast<char*>(xmalloc(10));
    std::memset(p, 1, 10);
    if (what == "overflow") seen = p[10];
    xfree(p);
    if (what == "double_free") xfree(p);
    if (what == "use_after_free") seen = p[3];
  }
  std::puts("done");
  return 0;
}
