// instance/heap_space.cpp: pieces of a page source, and how large ranges should be.
// Layer: instance.
#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/instance/heap_space.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {
namespace {

/// What a piece is aligned to: the heap's page, so that a slab's blocks are as aligned as its
/// pages.
constexpr std::size_t piece_alignment = std::size_t{1} << heap_page_shift;

constexpr std::size_t first_piece_min = 256 * 1024;
constexpr std::size_t first_piece_max = 4 * 1024 * 1024;
/// Addresses of a heap whose budget is as large as any memory; beside many others of its kind.
constexpr std::size_t addresses_max = std::size_t{1} << (sizeof(void*) == 8 ? 40 : 28);

/// Returns: `n * factor`, or SIZE_MAX when that overflows.
constexpr std::size_t saturating_product(std::size_t n, std::size_t factor) noexcept {
  return n > SIZE_MAX / factor ? SIZE_MAX : n * factor;
}

/// Returns: the least power of two that is at least `n`, at most `most`, itself a power of two.
constexpr std::size_t power_of_two(std::size_t n, std::size_t most) noexcept {
  return n >= most ? most : std::bit_ceil(n);
}

/// While it lives, the calling thread is in a source, with locks of a heap.
class source_call {
 public:
  source_call() noexcept : before_(std::exchange(self.in_source, true)) {}
  ~source_call() { self.in_source = before_; }
  source_call(const source_call&) = delete;
  source_call& operator=(const source_call&) = delete;

 private:
  detail::lock_level of_source_;
  bool before_;
};

}  // namespace

void* heap_space::reserve(std::size_t bytes) noexcept {
  if (!has_source()) return os::system_space::reserve(bytes);
  const std::size_t taken = taken_bytes();
  const std::size_t budget = budget_bytes_.load(std::memory_order_relaxed);
  if (taken > budget || bytes > budget - taken) return nullptr;
  piece* free = nullptr;
  {
    const std::lock_guard guard(mutex_);
    free = std::find_if(pieces_, pieces_ + ranges_max,
                        [](const piece& p) { return p.begin == nullptr; });
  }
  if (free == pieces_ + ranges_max) return nullptr;
  void* begin = nullptr;
  {
    const source_call here;
    begin = source_.allocate(source_.self, bytes, piece_alignment);
  }
  if (begin == nullptr) return nullptr;
  taken_.store(taken + bytes);
  taken_peak_.store(std::max(taken_bytes_peak(), taken + bytes));
  const std::lock_guard guard(mutex_);
  *free = {begin, bytes};
  return begin;
}

void heap_space::release(void* p, std::size_t bytes) noexcept {
  {
    const std::lock_guard guard(mutex_);
    piece* const end = pieces_ + ranges_max;
    piece* const found =
        has_source() ? std::find_if(pieces_, end, [p](const piece& own) { return own.begin == p; })
                     : end;
    if (found == end) return os::system_space::release(p, bytes);
    *found = {};
  }
  taken_.store(taken_bytes() - bytes);
  returned_.store(returned_bytes() + bytes);
  const source_call here;
  source_.deallocate(source_.self, p, bytes, piece_alignment);
}

std::size_t heap_space::limit() const noexcept {
  const std::size_t budget = budget_bytes_.load(std::memory_order_relaxed);
  if (has_source()) {
    // The first piece is a quarter of the budget; later ones double what there is.
    const std::size_t taken = taken_bytes();
    if (taken == 0)
      return 4 * power_of_two(std::clamp(budget / 4, first_piece_min, first_piece_max),
                              first_piece_max);
    return saturating_product(std::max(taken, first_piece_min), 8);
  }
  // Twice the budget: pages are scattered, and a block needs its own side by side. A heap without a
  // budget gets what the machine has. If more is needed, a further range is.
  const std::size_t wanted = budget == SIZE_MAX ? physical() : saturating_product(budget, 2);
  return std::min(4 * power_of_two(std::max(wanted, range_bytes_min), addresses_max),
                  os::system_space::limit());
}

bool heap_space::is_piece(const void* p) noexcept {
  if (!has_source()) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const std::lock_guard guard(mutex_);
  return std::any_of(pieces_, pieces_ + ranges_max, [address](const piece& own) {
    return address - reinterpret_cast<std::uintptr_t>(own.begin) < own.bytes;
  });
}

}  // namespace ashlar::runtime
