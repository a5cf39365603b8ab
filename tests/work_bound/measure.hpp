// tests/work_bound/measure.hpp: programs of calls, made by chance, that a search can change a little; and what the call of
// one takes that does most.
//
// A program is a list of steps; each is a few numbers. Any numbers make a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <tests/support/single_step.hpp>
#include <vector>

#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::work_bound {

enum class step_kind : unsigned {
  fill,
  free_up,
  free_down,
  free_scattered,
  large,
  grow,
  clock,
  end
};

struct step {
  unsigned kind = 0;
  unsigned size = 16;   ///< bytes of a block
  unsigned count = 1;   ///< of calls
  unsigned stride = 1;  ///< of blocks that are freed
  unsigned cache = 0;   ///< of two
};
using program = std::vector<step>;

inline step random_step(std::mt19937_64& random) {
  step s;
  s.kind = static_cast<unsigned>(random() % static_cast<unsigned>(step_kind::end));
  const auto c = 1 + random() % (class_count - 1);
  s.size = detail::block_sizes[random() % 2 == 0 ? c : 1 + random() % 24];
  s.count = 1u << (random() % 13);
  s.stride = 1u << (random() % 10);
  s.cache = static_cast<unsigned>(random() % 2);
  return s;
}
inline program random_program(std::mt19937_64& random) {
  program p(2 + random() % 12);
  for (step& s : p) s = random_step(random);
  return p;
}
/// Returns: `p`, changed a little.
inline program changed(program p, std::mt19937_64& random) {
  const std::size_t at = random() % p.size();
  switch (random() % 4) {
    case 0:
      p[at] = random_step(random);
      break;
    case 1:
      p.insert(p.begin() + static_cast<std::ptrdiff_t>(at), random_step(random));
      break;
    case 2:
      if (p.size() > 2) p.erase(p.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default: {
      const step other = random_step(random);
      step& s = p[at];
      (random() % 3 == 0   ? s.count
       : random() % 2 == 0 ? s.stride
                           : s.size) = random() % 3 == 0   ? other.count
                                       : random() % 2 == 0 ? other.stride
                                                           : other.size;
      s.count = std::clamp(s.count, 1u, 8192u);
      s.stride = std::clamp(s.stride, 1u, 1024u);
      s.size = std::clamp(s.size, 1u, 131'072u);
    }
  }
  if (p.size() > 24) p.pop_back();
  return p;
}

inline std::string text_of(const program& p) {
  std::ostringstream out;
  for (const step& s : p)
    out << s.kind << ' ' << s.size << ' ' << s.count << ' ' << s.stride << ' ' << s.cache << "; ";
  return out.str();
}
inline program program_of(const std::string& text) {
  std::istringstream in(text);
  program p;
  char semicolon = 0;
  for (step s; in >> s.kind >> s.size >> s.count >> s.stride >> s.cache >> semicolon;)
    p.push_back(s);
  return p;
}

/// Runs programs on a heap: `Watch` is called with each call of the heap, which it has to make.
template <class Heap>
class runner {
 public:
  runner(Heap& heap, void (*set_clock)(std::uint64_t)) : heap_(heap), set_clock_(set_clock) {
    for (auto*& own : own_) own = heap_.attach();
  }
  ~runner() {
    for (auto& list : blocks_)
      for (void* block : list) free_by(0, block, [](auto call) { call(); });
    for (void* block : large_) free_by(0, block, [](auto call) { call(); });
    for (auto* own : own_) heap_.detach(own);
  }
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  template <class Watch>
  void run(const program& p, Watch watch) {
    for (const step& s : p) run_step(s, watch);
  }

 private:
  static constexpr std::size_t bytes_max = std::size_t{48} << 20;

  template <class Watch>
  void* allocate_by(unsigned cache, std::size_t size, Watch watch) {
    void* block = Heap::try_allocate(own_[cache]->tops, size);
    if (block != nullptr) return block;  // a hit
    const class_index c = Heap::classes::class_for(size, 1);
    watch([&] {
      block = c != 0 ? heap_.allocate_class(*own_[cache], c)
                     : heap_.allocate_large(size, 1, false, own_[cache]).address;
    });
    return block;
  }
  template <class Watch>
  void free_by(unsigned cache, void* block, Watch watch) {
    if (Heap::try_deallocate(own_[cache]->tops, block)) return;
    watch([&] { heap_.deallocate_slow(*own_[cache], block, "free"); });
  }

  template <class Watch>
  void run_step(const step& s, Watch watch) {
    auto& blocks = blocks_[s.size % lists];
    switch (static_cast<step_kind>(s.kind)) {
      case step_kind::fill:
        for (unsigned i = 0; i < s.count && held_ + s.size <= bytes_max; ++i) {
          blocks.push_back(allocate_by(s.cache, s.size, watch));
          held_ += s.size;
        }
        break;
      case step_kind::free_up:
      case step_kind::free_down:
      case step_kind::free_scattered: {
        std::vector<void*> leaving, staying;
        for (std::size_t i = 0; i < blocks.size(); ++i)
          (leaving.size() < s.count && i % s.stride == 0 ? leaving : staying).push_back(blocks[i]);
        blocks.swap(staying);
        if (static_cast<step_kind>(s.kind) == step_kind::free_down)
          std::reverse(leaving.begin(), leaving.end());
        if (static_cast<step_kind>(s.kind) == step_kind::free_scattered)
          std::shuffle(leaving.begin(), leaving.end(), random_);
        for (void* block : leaving) {
          held_ -= std::min(held_, std::size_t{s.size});
          free_by(s.cache, block, watch);
        }
        break;
      }
      case step_kind::large:
        if (s.stride % 2 == 0 && !large_.empty()) {
          for (unsigned i = 0; i < s.count && !large_.empty(); ++i) {
            const std::size_t at = random_() % large_.size();
            std::swap(large_[at], large_.back());
            free_by(s.cache, large_.back(), watch);
            large_.pop_back();
          }
          break;
        }
        for (unsigned i = 0; i < std::min(s.count, 200u) && large_.size() < 400; ++i) {
          void* block = nullptr;
          const std::size_t bytes = s.size + (std::size_t{i % s.stride} << 12);
          watch([&] { block = heap_.allocate_large(bytes, 1, false, own_[s.cache]).address; });
          if (block != nullptr) large_.push_back(block);
        }
        break;
      case step_kind::grow:
        if (!large_.empty())
          watch([&] {
            void* const block = large_.back();
            const std::size_t had = heap_.usable_size(block, "realloc");
            void* const now = heap_.reallocate(block, std::min(had + s.size, bytes_max), "realloc");
            if (now != nullptr) large_.back() = now;
          });
        break;
      case step_kind::clock:
        clock_ += s.count;
        set_clock_(clock_);
        break;
      case step_kind::end:
        break;
    }
  }

  static constexpr std::size_t lists = 61;
  Heap& heap_;
  void (*set_clock_)(std::uint64_t);
  typename Heap::cache* own_[2];
  std::vector<void*> blocks_[lists];
  std::vector<void*> large_;
  std::size_t held_ = 0;
  std::uint64_t clock_ = 1;
  std::mt19937_64 random_{7};
};

}  // namespace ashlar::work_bound

// A heap whose calls are stepped through, instruction by instruction.
// x86-64 Linux.
namespace ashlar::stepped {

/// The system's, with a clock that the test sets, and the steps of the last call.
struct space : os::system_space {
  static inline std::uint64_t clock_ms = 1;
  static inline std::array<std::size_t, detail::step_kinds> steps{};

  [[nodiscard]] static std::uint64_t now_ms() noexcept { return clock_ms; }
  static void note_steps(detail::step t, std::size_t n) noexcept {
    steps[static_cast<std::size_t>(t)] += n;
  }
};
struct config {
  using space = stepped::space;
  using mutex = os::mutex;
};
using heap = basic_heap<config>;

/// As test::instructions_of, with the steps of the call.
template <class Call>
std::uint64_t instructions_of(Call call) {
  space::steps = {};
  return test::instructions_of(call);
}

}  // namespace ashlar::stepped

namespace ashlar::work_bound {

using step_counts = std::array<std::size_t, detail::step_kinds>;

/// Returns: what these steps cost.
inline std::size_t cost_of(const step_counts& t) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < t.size(); ++i)
    sum += t[i] * detail::cost_of(static_cast<detail::step>(i));
  return sum;
}

struct measured {
  std::size_t call = 0;  ///< its number in the program; 0: none
  step_counts of_call{};
  std::uint64_t instructions = 0;
};

/// Effects: runs the program on a heap of its own, twice if its instructions are to be counted. Returns: the
/// call for which score(steps) is most.
template <class Score>
measured heaviest(const program& p, const heap_bounds& bounds, Score score, bool counts = true) {
  measured found;
  std::size_t best = 0;
  for (const bool stepping : {false, true}) {
    if (stepping && !counts) break;
    const auto h = std::make_unique<stepped::heap>();
    stepped::space::clock_ms = 1;
    h->set_bounds(bounds);
    std::size_t number = 0;
    {
      runner<stepped::heap> run(*h, [](std::uint64_t ms) { stepped::space::clock_ms = ms; });
      run.run(p, [&](auto call) {
        ++number;
        if (stepping && number == found.call) {
          found.instructions = stepped::instructions_of(call);
          found.of_call = stepped::space::steps;
          return;
        }
        stepped::space::steps = {};
        call();
        if (const std::size_t s = score(stepped::space::steps); !stepping && s > best) {
          best = s;
          found.call = number;
          found.of_call = stepped::space::steps;
        }
      });
    }
    h->release_all();
  }
  return found;
}

}  // namespace ashlar::work_bound
