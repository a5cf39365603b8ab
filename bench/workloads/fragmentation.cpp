// bench/workloads/fragmentation.cpp: adversaries that make an allocator hold more memory than is
// live. Each reports its time, and the peak of the memory held over the peak of the bytes live.
// Every page of every block is written to, so that memory held is memory resident.
// The first three are made to be bad. The last three are what programs do: their sizes change over
// time, or few blocks outlive the many that were allocated beside them.
#include <algorithm>
#include <array>
#include <utility>

#include "workloads.hpp"

namespace bench {
namespace {

// Live blocks and their bytes; the clock runs in grow() and shrink() only.
class adversary {
 public:
  explicit adversary(std::size_t most_blocks) : blocks_(most_blocks), kept_(most_blocks) {}

  // Allocates blocks of this size while no more than limit_bytes are live.
  void grow(std::size_t size_bytes, std::size_t limit_bytes) {
    const std::size_t more =
        live_bytes_ < limit_bytes ? (limit_bytes - live_bytes_) / size_bytes : 0;
    if (count_ + more > blocks_.size()) fail("an adversary has too many blocks");
    const auto start = clock::now();
    for (std::size_t i = 0; i < more; ++i) {
      void*& block = blocks_[count_ + i];
      mark(block = take(size_bytes), size_bytes, next_identity_ + i);
    }
    elapsed_ns_ += nanoseconds(clock::now() - start);
    count_ += more;
    next_identity_ += more;
    operations_ += more;
    live_bytes_ += more * size_bytes;
    peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  }
  // Frees each block for which keep(block, its place) is false, in the order of allocation; the
  // others keep that order, so that each one's mark must be above the last one's.
  template <class Keep>
  void shrink(Keep keep) {
    std::size_t kept = 0, dropped = 0, last_identity = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t identity = marked_identity(blocks_[i]);
      check_mark(blocks_[i], identity);
      if (identity <= last_identity) fail("two live blocks are the same");
      last_identity = identity;
      if (keep(blocks_[i], i)) {
        kept_[kept++] = blocks_[i];
      } else {
        live_bytes_ -= marked_size(blocks_[i]);
        blocks_[dropped++] = blocks_[i];
      }
    }
    const auto start = clock::now();
    for (std::size_t i = 0; i < dropped; ++i) give(blocks_[i]);
    elapsed_ns_ += nanoseconds(clock::now() - start);
    std::copy_n(kept_.begin(), kept, blocks_.begin());
    operations_ += dropped;
    count_ = kept;
    if (count_ == 0) next_identity_ = 1;
  }
  void clear() {
    shrink([](void*, std::size_t) { return false; });
  }
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < count_; ++i) visit(blocks_[i]);
  }
  std::size_t operations() const { return operations_; }
  std::size_t peak_live_bytes() const { return peak_bytes_; }
  double elapsed_ns() const { return elapsed_ns_; }

 private:
  page_array<void*> blocks_, kept_;
  std::size_t count_ = 0, live_bytes_ = 0, peak_bytes_ = 0, operations_ = 0;
  std::size_t next_identity_ = 1;
  double elapsed_ns_ = 0;
};

// play(adversary) runs once untimed and a few times timed; each ends with nothing live.
template <class Play>
void measure(const char* workload, const char* variant, std::size_t most_blocks, Play play) {
  adversary one(most_blocks);
  const resident_growth held;
  const auto once = [&] {
    const double before_ns = one.elapsed_ns();
    const std::size_t before = one.operations();
    play(one);
    one.clear();
    return (one.elapsed_ns() - before_ns) / static_cast<double>(one.operations() - before);
  };
  auto times = sample_timed(quick ? 1 : 3, 1, once);
  report(workload, variant, "ns/op", times, one.operations());
  const auto live_bytes = static_cast<double>(one.peak_live_bytes());
  report(workload, label("%s/held", variant), "ratio", series(held.peak_bytes() / live_bytes),
         one.operations(), kind::ratio, {"live_kib", live_bytes / 1024});
}

// Blocks at numbered places: each is marked with its place, and checked before it is freed.
class places {
 public:
  explicit places(std::size_t count) : blocks_(count) {}

  void put(std::size_t place, std::size_t size_bytes) {
    mark(blocks_[place] = take(size_bytes), size_bytes, place);
    live_bytes_ += size_bytes;
    peak_bytes_ = std::max(peak_bytes_, live_bytes_);
    ++operations_;
  }
  void drop(std::size_t place) {
    check_mark(blocks_[place], place);
    live_bytes_ -= marked_size(blocks_[place]);
    give(std::exchange(blocks_[place], nullptr));
    ++operations_;
  }
  void clear() {
    for (std::size_t place = 0; place < blocks_.size(); ++place)
      if (blocks_[place] != nullptr) drop(place);
  }
  std::size_t operations() const { return operations_; }
  std::size_t live_bytes() const { return live_bytes_; }
  std::size_t peak_live_bytes() const { return peak_bytes_; }

 private:
  page_array<void*> blocks_;
  std::size_t live_bytes_ = 0, peak_bytes_ = 0, operations_ = 0;
};

// play(places) runs once, timed as a whole; what it leaves is freed afterwards. A second time would
// find the holes of the first one.
template <class Play>
void measure_once(const char* workload, const char* variant, std::size_t most_blocks, Play play) {
  places all(most_blocks);
  const auto body = [&] {
    play(all);
    all.clear();
  };
  if (only_counted(body)) return report(workload, variant, "ns/op", {}, all.operations());
  const resident_growth held;
  const auto start = clock::now();
  play(all);
  const double elapsed_ns = nanoseconds(clock::now() - start);
  const std::size_t operations = all.operations();
  const auto peak_live = static_cast<double>(all.peak_live_bytes());
  const auto end_live = static_cast<double>(all.live_bytes());
  const series peak(held.peak_bytes() / peak_live), end(held.now_bytes() / end_live);
  all.clear();
  report(workload, variant, "ns/op", series(elapsed_ns / static_cast<double>(operations)),
         operations);
  report(workload, label("%s/held", variant), "ratio", peak, operations, kind::ratio,
         {"live_kib", peak_live / 1024});
  report(workload, label("%s/end", variant), "ratio", end, operations, kind::ratio,
         {"live_kib", end_live / 1024});
}

}  // namespace

void checkerboard(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 16, 64 << 10);
  constexpr std::size_t limit = 64 << 20;
  measure("checkerboard", label("%zu", size_bytes), limit / size_bytes, [&](adversary& one) {
    one.grow(size_bytes, limit);
    one.shrink([](void*, std::size_t place) { return place % 2 == 0; });
    one.grow(2 * size_bytes, limit);  // no hole is so wide
  });
}

void sawtooth(const arguments&) {
  constexpr std::size_t limit = 32 << 20, smallest = 64, largest = 8 << 10;
  measure("sawtooth", "64-8192", limit / smallest, [&](adversary& one) {
    random_source random(127);
    for (std::size_t size_bytes = smallest; size_bytes <= largest; size_bytes += size_bytes / 2) {
      one.grow(size_bytes, limit);
      one.shrink([&](void*, std::size_t) { return random.below(50) == 0; });  // pinned: 2 %
    }
  });
}

void robson(const arguments&) {
  constexpr std::size_t limit = 32 << 20, smallest = 16, largest = 16 << 10;
  measure("robson", "16-16384", limit / smallest, [&](adversary& one) {
    one.grow(smallest, limit);
    std::size_t offset = 0;
    for (std::size_t step = 2 * smallest; step <= largest; step *= 2) {
      // A block that covers an address of `offset` modulo `step` spoils that place for a block of
      // `step` bytes there. Of the two offsets that continue the last one, the one at which fewer
      // live bytes spoil more is kept, and all other blocks leave.
      const auto covers = [&](const void* block, std::size_t at) {
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        return (at - address) % step < marked_size(block);  // step is a power of two: wraps right
      };
      std::array<std::size_t, 2> spoilt{};
      one.for_each([&](const void* block) {
        for (std::size_t i = 0; i < 2; ++i)
          if (covers(block, offset + i * step / 2)) spoilt[i] += step - marked_size(block);
      });
      if (spoilt[1] > spoilt[0]) offset += step / 2;
      one.shrink([&](const void* block, std::size_t) { return covers(block, offset); });
      one.grow(step, limit);
    }
  });
}

void drift(const arguments&) {
  constexpr std::size_t from = 200, to = 1200, replacements_each = 20;
  const std::size_t live = quick ? 20'000 : 200'000;
  measure_once("drift", label("%zu-%zu", from, to), live, [=](places& all) {
    random_source random(139);
    const std::size_t replacements = live * replacements_each;
    // Within an eighth of what is usual at this time.
    const auto size_at = [&](std::size_t i) {
      const std::size_t usual = from + (to - from) * i / replacements;
      return random.between(usual - usual / 8, usual + usual / 8);
    };
    for (std::size_t place = 0; place < live; ++place) all.put(place, size_at(0));
    for (std::size_t i = 0; i < replacements; ++i) {
      const std::size_t place = random.below(live);
      all.drop(place);
      all.put(place, size_at(i));
    }
  });
}

void survivors(const arguments&) {
  const std::size_t before = quick ? 300'000 : 3'000'000, after_bytes = before * 400 / 3;
  constexpr std::size_t survivor_each = 16, smallest_after = 300, largest_after = 8192;
  const std::size_t most = before + after_bytes / smallest_after + 1;
  measure_once("survivors", label("%zu", before), most, [=](places& all) {
    random_source random(149);
    for (std::size_t place = 0; place < before; ++place) all.put(place, random.between(16, 256));
    for (std::size_t place = 0; place < before; ++place)
      if (random.below(survivor_each) != 0) all.drop(place);
    const std::size_t enough = all.live_bytes() + after_bytes;
    for (std::size_t place = before; all.live_bytes() < enough; ++place)
      all.put(place, random.between(smallest_after, largest_after));
  });
}

void pinned(const arguments&) {
  const std::size_t batches = quick ? 500 : 2000;
  constexpr std::size_t batch = 500;
  measure_once("pinned", label("%zu", batch), batches + batch, [&](places& all) {
    random_source random(157);
    for (std::size_t pin = 0; pin < batches; ++pin) {
      const std::size_t which = random.below(batch), size_bytes = random.between(16, 2048);
      for (std::size_t i = 0; i < batch; ++i) all.put(i == which ? pin : batches + i, size_bytes);
      for (std::size_t i = 0; i < batch; ++i)
        if (i != which) all.drop(batches + i);
    }
  });
}

}  // namespace bench
