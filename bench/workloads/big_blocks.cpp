// bench/workloads/big_blocks.cpp: blocks beyond the small classes, realloc and calloc. What is
// timed here is mostly the kernel (page faults, unmapping) and memory moved: read the peak RSS
// beside it.
#include <cstring>

#include "threads.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

struct step {
  std::uint32_t slot;
  std::size_t size_bytes;
};

page_array<step> steps(std::size_t count, std::size_t slots, std::size_t low, std::size_t high,
                       std::uint64_t seed) {
  page_array<step> result(count);
  random_source random(seed);
  for (auto& each : result)
    each = {static_cast<std::uint32_t>(random.below(slots)), random.log_uniform(low, high)};
  return result;
}

// Blocks in slots, with a limit on the sum of their sizes: what must leave to make room is freed
// first, from the slot after the one that is replaced. With `touch`, each page is written to.
class live_set {
 public:
  live_set(std::size_t slots, std::size_t limit_bytes, bool touch)
      : blocks_(slots), sizes_(slots), limit_bytes_(limit_bytes), touch_(touch) {}
  template <class Take>
  void replace(const step& now, Take take_block) {
    drop(now.slot);
    for (std::size_t next = now.slot; live_bytes_ + now.size_bytes > limit_bytes_;)
      drop(next = (next + 1) % blocks_.size());
    blocks_[now.slot] = take_block(now.size_bytes);
    if (touch_) mark(blocks_[now.slot], now.size_bytes, now.slot);
    sizes_[now.slot] = now.size_bytes;
    live_bytes_ += now.size_bytes;
  }
  void clear() {
    for (std::size_t slot = 0; slot < blocks_.size(); ++slot)
      if (touch_ && blocks_[slot] != nullptr) check_mark(blocks_[slot], slot);
    for (std::size_t slot = 0; slot < blocks_.size(); ++slot) drop(slot);
  }

 private:
  void drop(std::size_t slot) {
    if (blocks_[slot] == nullptr) return;
    give(blocks_[slot]);
    blocks_[slot] = nullptr;
    live_bytes_ -= sizes_[slot];
    sizes_[slot] = 0;
  }
  page_array<void*> blocks_;
  page_array<std::size_t> sizes_;
  std::size_t live_bytes_ = 0;
  std::size_t limit_bytes_;
  bool touch_;
};

void churn_of_sizes(const char* name, bool touch, std::size_t slots, std::size_t low,
                    std::size_t high, std::size_t limit_bytes, std::size_t count,
                    std::size_t repeat) {
  const auto plan = steps(count, slots, low, high, 53);
  live_set live(slots, limit_bytes, touch);
  auto result = sample(repeat, count, [&] {
    for (std::size_t i = 0; i < count; ++i) live.replace(plan[i], take);
  });
  live.clear();
  report(name, label("%zuK-%zuK%s", low >> 10, high >> 10, touch ? "/touch" : ""), "ns/op", result,
         count);
}

}  // namespace

void medium(const arguments& given) {
  const bool touch = option(given[0], "touch");
  churn_of_sizes("medium", touch, 1000, 1 << 10, 128 << 10, std::size_t{1} << 30, 100'000,
                 repetitions(touch ? 5 : 9));
}

void large(const arguments& given) {
  const bool touch = option(given[0], "touch");
  churn_of_sizes("large", touch, 16, 32 << 10, 64 << 20, 256 << 20, touch ? 150 : 3'000,
                 repetitions(touch ? 3 : 9));
}

void huge(const arguments& given) {
  const bool touch = option(given[0], "touch");
  churn_of_sizes("huge", touch, 8, 1 << 20, 64 << 20, 128 << 20, touch ? 30 : 1'000,
                 repetitions(touch ? 3 : 9));
}

// Every page is read (it must be zero) and then written, so that reuse has something to clear.
void calloc_large(const arguments&) {
  constexpr std::size_t slots = 8, count = 300;
  const auto plan = steps(count, slots, 64 << 10, 4 << 20, 59);
  live_set live(slots, 64 << 20, true);
  auto result = sample(repetitions(5), count, [&] {
    for (std::size_t i = 0; i < count; ++i)
      live.replace(plan[i], [](std::size_t size_bytes) {
        void* block = take_zeroed(size_bytes);
        const auto* bytes = static_cast<const volatile unsigned char*>(block);
        for (std::size_t at = 0; at < size_bytes; at += page_bytes)
          if (bytes[at] != 0) fail("calloc's block is not zero");
        return block;
      });
  });
  live.clear();
  report("calloc_large", "64K-4096K", "ns/op", result, count);
}

void realloc_growth(const arguments& given) {
  if (is(given[0], "strings")) {
    // 10,000 strings, each step picks one and makes it half as long again; at 1,000 bytes it is
    // freed and begins anew.
    constexpr std::size_t strings = 10'000, count = 500'000;
    page_array<char*> texts(strings);
    page_array<std::size_t> lengths(strings);
    const auto letter = [](std::size_t which) { return static_cast<char>('a' + which % 26); };
    random_source random(61);
    auto result = sample(repetitions(7), count, [&] {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t which = random.below(strings);
        const std::size_t old = lengths[which];
        if (old > 1000) {
          give(texts[which]);
          texts[which] = nullptr;
          lengths[which] = 0;
          continue;
        }
        const std::size_t grown = old == 0 ? 16 : old + old / 2;
        char* text = static_cast<char*>(resize(texts[which], grown));
        std::memset(text + old, letter(which), grown - old);
        texts[which] = text;
        lengths[which] = grown;
      }
    });
    for (std::size_t i = 0; i < strings; ++i)
      for (std::size_t at = 0; at < lengths[i]; ++at)
        if (texts[i][at] != letter(i)) fail("a text has changed in realloc");
    give_all(texts);
    report("realloc_growth", "strings", "ns/op", result, count);
    return;
  }
  if (given[0] != nullptr && !is(given[0], "vector")) fail("realloc_growth: vector or strings");
  // One vector from 64 bytes to 64 MiB, its new part written page by page.
  constexpr std::size_t limit = 64 << 20;
  auto result = sample(repetitions(7), 1, [&] {
    void* data = nullptr;
    std::size_t held = 0;
    for (std::size_t size_bytes = 64; held < limit; size_bytes += size_bytes / 2) {
      const std::size_t wanted = size_bytes < limit ? size_bytes : limit;
      data = resize(data, wanted);
      touch_pages(data, held, wanted);
      held = wanted;
    }
    if (*static_cast<volatile unsigned char*>(data) != 1) fail("a vector has changed in realloc");
    give(data);
  });
  report("realloc_growth", "vector", "ns/vector", result, 1);
}

void growing_buffers(const arguments& given) {
  never_counted("growing_buffers");
  constexpr std::size_t buffers = 100, steps = 30'000, size_max = std::size_t{1} << 30;
  const std::size_t low = number(given[0], 512 << 10, page_bytes, size_max);
  const std::size_t high = number(given[1], 1 << 20, low, size_max);
  const std::size_t step = number(given[2], 10 << 10, 1, high);
  const std::size_t threads = number(given[3], 1, 1, most_threads);
  page_array<char*> texts(buffers);
  page_array<std::size_t> lengths(buffers);
  // Each thread has buffers of its own: every `threads`-th.
  const auto begin_anew = [&](std::size_t which) {
    texts[which] = static_cast<char*>(take(low));
    lengths[which] = low;
  };
  const auto end = [&](std::size_t which) {
    const char letter = static_cast<char>('a' + which % 26);
    for (std::size_t at = low; at < lengths[which]; at += page_bytes)
      if (texts[which][at] != letter) fail("a buffer has changed in realloc");
    give(texts[which]);
  };
  const auto start = clock::now();
  run_threads(threads, [&](std::size_t self) {
    for (std::size_t i = self; i < buffers; i += threads) begin_anew(i);
    random_source random(67 + self);
    const std::size_t own = (buffers - self + threads - 1) / threads;
    for (std::size_t done = 0; done < steps / threads;) {
      const std::size_t which = self + random.below(own) * threads;
      const std::size_t old = lengths[which];
      if (old + step > high) {
        end(which);
        begin_anew(which);
        continue;
      }
      texts[which] = static_cast<char*>(resize(texts[which], old + step));
      std::memset(texts[which] + old, static_cast<char>('a' + which % 26), step);
      lengths[which] = old + step;
      ++done;
    }
    for (std::size_t i = self; i < buffers; i += threads) end(i);
  });
  const double each = nanoseconds(clock::now() - start) / static_cast<double>(steps);
  report("growing_buffers", label("%zuK-%zuK/%zu", low >> 10, high >> 10, threads), "ns/step",
         series(each), steps);
}

}  // namespace bench
