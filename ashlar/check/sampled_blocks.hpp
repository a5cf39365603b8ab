// check/sampled_blocks.hpp: the sampled blocks of a heap, and what they say of each place that
// allocates.
// Layer: check.
//
//   block's address --> sample: size, birth, how many blocks it stands for
//                   --> site: a call stack and its sums
//
// A sample stands for `weight` blocks of its size (sample_gap.hpp). A site's sums are of weights,
// so they are estimates of what all blocks of that call stack would give. A call stack is a site of
// its own in each tag under which it allocates.
//
// Invariant: of a site, live_blocks == the sum of the weights of its samples that are in the table,
// and live_bytes that of their weights times their sizes. Of a tag, live_bytes == the sum of its
// sites'.
// Thread-safety: any function from any thread; one lock, but `may_contain` takes none. Memory of
// its own, from the system, and never given back: the heap is what is described. A fork may copy it
// while another thread changes it. All lists and memory are whole at each store. So what the child
// has may count one sample that is not in the table, or not count one that is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/pprof.hpp>
#include <ashlar/os/mutex.hpp>

namespace ashlar::detail {

/// A name under which threads allocate (adapt/tags.h), and the estimates of what lives of it.
struct sampled_tag {
  static constexpr std::size_t name_bytes_max = 63;
  char name[name_bytes_max + 1] = {};
  double live_bytes = 0;
  /// Its square root is the standard error of live_bytes. Each block is sampled by itself, with the
  /// probability 1 / weight, which is Poisson sampling: a sample of weight w and of b bytes
  /// estimates its part of the variance, without bias, by (1 - 1 / w) * (w * b)^2 (Särndal,
  /// Swensson, Wretman: Model Assisted Survey Sampling, 1992, section 3.5).
  double live_variance = 0;
  std::uint64_t limit_bytes = 0;  ///< of live_bytes; 0: none
  bool is_above = false;          ///< it was told, and less has not lived since
};

/// A call stack that allocates, and the estimates of it.
struct sampled_site {
  pprof::heap_values sums;    ///< `lifetime_ns` is of blocks that were freed
  double live_births_ns = 0;  ///< the sum over live blocks of the moments at which they were made
  std::uint64_t hash = 0;
  sampled_site* next_in_bucket = nullptr;
  sampled_site* next = nullptr;
  std::uint32_t depth = 0;
  std::uint32_t tag = 0;       ///< its number; 0: none
  const void* frames[1] = {};  ///< `depth` of them, where each returns to, the innermost first

  /// Returns: its estimates at that moment: the age of live blocks counts, too.
  [[nodiscard]] pprof::heap_values at(std::uint64_t now_ns) const noexcept {
    pprof::heap_values v = sums;
    v.lifetime_ns += v.live_blocks * static_cast<double>(now_ns) - live_births_ns;
    return v;
  }
};

/// A sampled block.
struct block_sample {
  const void* block = nullptr;
  std::size_t size = 0;  ///< that was asked for
  double weight = 0;     ///< blocks that it stands for
  std::uint64_t born_ns = 0;
  sampled_site* site = nullptr;
  block_sample* next_in_bucket = nullptr;
};

class sampled_blocks {
 public:
  /// Call stacks that are told apart. Those that come later share one site, which has no frames.
  static constexpr std::size_t sites_max = std::size_t{1} << 16;
  /// Tags that are told apart, by numbers from 1 on. Those that come later share the next number.
  static constexpr unsigned tags_max = 256;
  static constexpr unsigned other_tags = tags_max + 1;

  constexpr sampled_blocks() noexcept = default;
  sampled_blocks(const sampled_blocks&) = delete;
  sampled_blocks& operator=(const sampled_blocks&) = delete;

  /// Effects: there is a table. Returns: false when memory was refused; a later call tries again.
  [[nodiscard]] bool start() noexcept;

  /// Effects: `block`, of `size` bytes, is sampled and stands for `weight` blocks. Nothing when
  /// memory is refused.
  /// Requires: start() returned true; depth <= os::frames_max; number_of returned `tag`, or it is
  /// 0. O(1) expected.
  void add(const void* block, std::size_t size, double weight, std::uint64_t now_ns,
           const void* const* frames, unsigned depth, unsigned tag = 0) noexcept;

  /// Returns: the number of the tag of that name, which is known from now on; 0 when memory is
  /// refused. Requires: 1 to name_bytes_max characters, none of them 0. O(tags).
  [[nodiscard]] unsigned number_of(std::string_view tag) noexcept;
  /// Effects: `out` is what is known of the tag with that number now. Returns: false: no tag has
  /// it, nor a higher one.
  [[nodiscard]] bool read_tag(unsigned number, sampled_tag& out) noexcept;

  /// Effects: the tag with that number has that limit from now on, 0: none. Requires: number_of
  /// returned it.
  void limit_tag(unsigned number, std::uint64_t bytes) noexcept;
  /// Returns: whether the tag is above its limit by more than two standard errors, and was not the
  /// last time; then `out` is what is known of it. Requires: number_of returned `number`.
  [[nodiscard]] bool take_crossing(unsigned number, sampled_tag& out) noexcept;

  /// Returns: whether start() ever returned true.
  [[nodiscard]] ASHLAR_HOT bool has_started() const noexcept {
    return samples_.load(std::memory_order_acquire) != nullptr;
  }
  /// Returns: false only if `block` is not sampled. Takes no lock.
  [[nodiscard]] ASHLAR_HOT bool may_contain(const void* block) const noexcept {
    const std::atomic<block_sample*>* const table = samples_.load(std::memory_order_acquire);
    return table != nullptr && table[bucket_of(block)].load(std::memory_order_relaxed) != nullptr;
  }

  /// Returns: whether `block` is sampled.
  [[nodiscard]] bool contains(const void* block) noexcept;

  /// Effects: `block` is not sampled any more, if it was: nobody else finds its sample. Its site
  /// still counts it as live. Returns: the sample, for `end` or `put_back`; null if it was none.
  /// O(1) expected.
  [[nodiscard]] block_sample* take(const void* block) noexcept;
  /// Effects: the block of a sample that was taken has ended.
  void end(block_sample* s, std::uint64_t now_ns) noexcept;
  /// Effects: the sample is that of `block` again.
  void put_back(block_sample* s, const void* block) noexcept;

  /// Effects: no site has allocated anything yet; what is live stays. For the child of a fork.
  void forget_allocations() noexcept;

  /// Effects: calls visit(site) for each site, with the lock held.
  template <class Visit>
  void for_each_site(Visit visit) noexcept {
    const std::lock_guard guard(mutex_);
    for (const sampled_site* s = sites_; s != nullptr; s = s->next) visit(*s);
  }

  /// Returns: bytes that it has from the system.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return memory_bytes_.load(std::memory_order_relaxed);
  }

  void unlock() noexcept { mutex_.unlock(); }

 private:
  friend struct watch_layout;  // tells where the members are
  /// Memory from the system. It begins with this; what samples and sites have is behind it.
  struct piece {
    piece* next;
    std::size_t bytes;
  };
  static constexpr unsigned sample_bucket_bits = 16;
  static constexpr unsigned site_bucket_bits = 14;
  static constexpr std::size_t chunk_bytes = 128 * 1024;

  [[nodiscard]] static std::size_t bucket_of(const void* block) noexcept {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
    const auto hash =
        (std::uint64_t{reinterpret_cast<std::uintptr_t>(block)} >> 4) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash >> (64 - sample_bucket_bits));
  }
  /// Returns: so many zeroed bytes, or null.
  [[nodiscard]] void* memory(std::size_t bytes) noexcept;
  [[nodiscard]] block_sample* new_sample() noexcept;
  [[nodiscard]] sampled_site* site_of(const void* const* frames, unsigned depth,
                                      unsigned tag) noexcept;
  void count_live(const block_sample& s, double sign) noexcept;
  void insert(block_sample* s) noexcept;
  [[nodiscard]] block_sample* find(const void* block) const noexcept;

  ranked<os::mutex, lock_rank::samples>::type mutex_;
  /// The lists of samples whose addresses have one hash. Read without the lock, changed with it.
  std::atomic<std::atomic<block_sample*>*> samples_{nullptr};
  sampled_site** site_buckets_ = nullptr;
  sampled_site* sites_ = nullptr;
  std::size_t site_count_ = 0;
  sampled_tag* tags_ = nullptr;  ///< `other_tags` of them, by their numbers - 1
  unsigned tag_count_ = 0;       ///< that have names
  block_sample* spare_ = nullptr;
  piece* pieces_ = nullptr;     ///< all memory
  std::byte* chunk_ = nullptr;  ///< what is left of the last small piece
  std::size_t chunk_left_ = 0;
  std::atomic<std::size_t> memory_bytes_{0};
};

}  // namespace ashlar::detail
