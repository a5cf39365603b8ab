// tests/support/test_space.hpp: an address space that a test steers and watches.
// Models heap's address_space on top of the system's. Every call checks what the concept demands of
// its caller; calls can be made to fail; limit, physical memory and clock are what the test says.
// No address that it chooses is aligned to more than the system's page.
#pragma once

#include <tests/support/test_headers.hpp>

#include <ashlar/os/system_space.hpp>
#include <ashlar/pages/address_space.hpp>

namespace ashlar::test {

enum class space_call : unsigned {
  reserve,
  reserve_zeros,
  commit,
  populate,
  purge,
  renew,
  close,
  move,
  find_gap,
  claim
};
inline constexpr std::size_t space_call_count = 10;

class test_space {
 public:
  test_space() = default;
  test_space(const test_space&) = delete;
  test_space& operator=(const test_space&) = delete;
  ~test_space() {
    for (const auto& [begin, r] : gaps_) os::system_space::release(gap_memory(begin), r.bytes);
    for (const auto& [base, bytes] : live_)
      if (!in_gap(base)) os::system_space::release(reinterpret_cast<void*>(base), bytes);
  }

  // ---- what the test decides --------------------------------------------------------------------

  /// Effects: the n-th call from now on fails, and only that one. 0: none does.
  void fail_nth(std::uint64_t n) {
    fail_all_after_ = false;
    fail_at_ = n == 0 ? 0 : calls_ + n;
  }
  /// Effects: the n-th call from now on fails, and every later one.
  void fail_from(std::uint64_t n) {
    fail_at_ = calls_ + n;
    fail_all_after_ = true;
  }
  void fail_always(space_call kind, bool fails) { fails_[index(kind)] = fails; }
  /// Effects: nothing that is reserved or in a gap becomes memory any more, or does again.
  void refuse_memory(bool refuses) {
    fail_always(space_call::commit, refuses);
    fail_always(space_call::claim, refuses);
  }
  /// Effects: the same until something is closed, as where a process's data are limited.
  void refuse_memory_until_closed() {
    refuse_memory(true);
    ends_with_close_ = true;
  }
  /// Effects: a refused move takes its target away, as some systems do; only `renew` brings it
  /// back. (Nothing else may be mapped there meanwhile, so the addresses stay reserved, but every
  /// access dies.)
  void set_refused_moves_unmap(bool unmap) { refused_moves_unmap_ = unmap; }
  /// Effects: reservations fail that would bring the live ones above `bytes`.
  void set_reserve_max(std::size_t bytes) { reserve_max_ = bytes; }
  /// Effects: somebody else has the n bytes at p in a gap, too: claims of a part of them fail.
  void block_claims(const void* p, std::size_t n) {
    const auto from = reinterpret_cast<std::uintptr_t>(p);
    const std::lock_guard guard(mutex_);
    blocked_.emplace_back(from, from + n);
  }
  /// Effects: gaps are found of no more than `bytes`; 0: none is.
  void set_gap_max(std::size_t bytes) { gap_max_ = bytes; }
  void set_limit(std::size_t bytes) { limit_ = bytes; }
  void set_physical(std::size_t bytes) { physical_ = bytes; }
  void set_processors(std::size_t count) { processors_ = count; }
  void set_clock(std::uint64_t ms) { clock_ms_ = ms; }
  /// Effects: the next purge first calls `what`, as another thread might do something at that moment.
  void before_next_purge(std::function<void()> what) { before_purge_ = std::move(what); }

  // ---- what it sees -----------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t calls(space_call kind) const { return calls_of_[index(kind)]; }
  /// Calls of a kind that were made to fail.
  [[nodiscard]] std::uint64_t refused(space_call kind) const { return refused_[index(kind)]; }
  /// Where renewal was refused: nothing may be mapped there, so nobody may ever get it.
  [[nodiscard]] const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& not_renewed() const {
    return not_renewed_;
  }
  /// Gaps count as one each, whatever was claimed in them.
  [[nodiscard]] std::size_t live_reservations() {
    const std::lock_guard guard(mutex_);
    return gaps_.size() +
           static_cast<std::size_t>(std::count_if(
               live_.begin(), live_.end(), [this](const auto& l) { return !in_gap(l.first); }));
  }
  [[nodiscard]] std::size_t live_bytes() {
    const std::lock_guard guard(mutex_);
    return live_bytes_;
  }

  // ---- the concept ------------------------------------------------------------------------------

  [[nodiscard]] void* reserve(std::size_t bytes) noexcept {
    if (refuse(space_call::reserve) || beyond_max(bytes)) return nullptr;
    return note(barely_aligned(&os::system_space::reserve, bytes), bytes);
  }
  [[nodiscard]] void* reserve_zeros(std::size_t bytes) noexcept {
    if (refuse(space_call::reserve_zeros) || beyond_max(bytes)) return nullptr;
    return note(barely_aligned(&os::system_space::reserve_zeros, bytes), bytes);
  }
  [[nodiscard]] bool commit(void* p, std::size_t bytes) noexcept {
    check(p, bytes);
    check_mapped(p, bytes);
    return !refuse(space_call::commit) && os::system_space::commit(p, bytes);
  }
  [[nodiscard]] bool populate(void* p, std::size_t bytes) noexcept {
    check(p, bytes);
    check_mapped(p, bytes);
    return !refuse(space_call::populate) && os::system_space::populate(p, bytes);
  }
  [[nodiscard]] bool purge(void* p, std::size_t bytes) noexcept {
    check(p, bytes);
    check_mapped(p, bytes);
    if (before_purge_) std::exchange(before_purge_, nullptr)();
    return !refuse(space_call::purge) && os::system_space::purge(p, bytes);
  }
  [[nodiscard]] bool renew(void* p, std::size_t bytes) noexcept {
    check(p, bytes);
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    const bool refused = refuse(space_call::renew) || !os::system_space::renew(p, bytes);
    const std::lock_guard guard(mutex_);
    if (refused) {
      not_renewed_.emplace_back(a, a + bytes);
      return false;
    }
    std::erase_if(unmapped_, [&](const auto& u) { return a <= u.first && u.second <= a + bytes; });
    return true;
  }
  [[nodiscard]] bool close(void* p, std::size_t bytes) noexcept {
    check(p, bytes);
    check_mapped(p, bytes);
    if (refuse(space_call::close) || !os::system_space::close(p, bytes)) return false;
    if (ends_with_close_) refuse_memory(ends_with_close_ = false);
    return true;
  }
  [[nodiscard]] bool move(void* from, void* to, std::size_t bytes) noexcept {
    check(from, bytes);
    check(to, bytes);
    check_mapped(from, bytes);
    check_mapped(to, bytes);
    if (!refuse(space_call::move)) return os::system_space::move(from, to, bytes);
    if (refused_moves_unmap_) {
      EXPECT_TRUE(os::system_space::close(to, bytes));
      const std::lock_guard guard(mutex_);
      const auto a = reinterpret_cast<std::uintptr_t>(to);
      unmapped_.emplace_back(a, a + bytes);
    }
    return false;
  }
  void release(void* p, std::size_t bytes) noexcept {
    const std::lock_guard guard(mutex_);
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    const bool claimed = in_gap(a);
    if (claimed) {  // any part of it may go
      split_claim(a);
      split_claim(a + bytes);
    }
    const auto first = live_.find(a);
    auto end = first;
    std::size_t found = 0;
    while (end != live_.end() && end->first == a + found && found < bytes &&
           (claimed || end == first)) {
      found += end->second;
      ++end;
    }
    if (found != bytes) {
      ADD_FAILURE() << "release of " << p << ", " << bytes << " bytes, which was not reserved so";
      return;
    }
    live_.erase(first, end);
    live_bytes_ -= bytes;
    std::erase_if(unmapped_, [&](const auto& u) { return a <= u.first && u.second <= a + bytes; });
    if (claimed)
      EXPECT_TRUE(os::system_space::close(p, bytes));
    else
      os::system_space::release(p, bytes);
  }
  // Gaps are the test's own reservations, so that nobody but the test can be in them.
  [[nodiscard]] void* find_gap(const void* near, std::size_t& bytes) noexcept {
    {
      const std::lock_guard guard(mutex_);
      EXPECT_TRUE(live_.contains(reinterpret_cast<std::uintptr_t>(near))) << "near what?";
    }
    if (refuse(space_call::find_gap) || gap_max_ == 0) return nullptr;
    bytes = std::min<std::size_t>(bytes, gap_max_);
    char* const memory =
        static_cast<char*>(barely_aligned(&os::system_space::reserve, bytes + granule));
    if (memory == nullptr) return nullptr;
    const std::lock_guard guard(mutex_);
    gaps_.emplace(reinterpret_cast<std::uintptr_t>(memory + granule), gap{bytes + granule});
    last_gap_ = memory + granule;
    return memory + granule;
  }
  [[nodiscard]] bool claim(void* p, std::size_t bytes) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    EXPECT_TRUE(a % granule == 0 && bytes % granule == 0 && bytes != 0);
    if (refuse(space_call::claim) || beyond_max(bytes)) return false;
    for (const auto& [from, to] : blocked_)
      if (a < to && a + bytes > from) return false;
    const std::lock_guard guard(mutex_);
    if (!in_gap(a) || !in_gap(a + bytes - 1) || is_live(a, bytes)) {
      ADD_FAILURE() << p << ", " << bytes << " bytes, is not free and in a gap";
      return false;
    }
    if (!os::system_space::commit(p, bytes)) return false;
    live_bytes_ += bytes;
    live_.emplace(a, bytes);
    return true;
  }
  void leave_gap(void* p) noexcept {
    const std::lock_guard guard(mutex_);
    const auto found = gaps_.find(reinterpret_cast<std::uintptr_t>(p));
    if (found == gaps_.end()) {
      ADD_FAILURE() << p << " is no gap";
      return;
    }
    EXPECT_FALSE(is_live(found->first, found->second.bytes - granule)) << "not all was released";
    os::system_space::release(gap_memory(found->first), found->second.bytes);
    gaps_.erase(found);
  }
  /// Returns: the gap that was found last, or null.
  [[nodiscard]] void* last_gap() const { return last_gap_; }
  [[nodiscard]] std::size_t gaps() {
    const std::lock_guard guard(mutex_);
    return gaps_.size();
  }
  [[nodiscard]] std::size_t resident(const void* p, std::size_t bytes) noexcept {
    if (bytes != 0) check(p, bytes);
    return os::system_space::resident(p, bytes);
  }
  [[nodiscard]] std::size_t limit() noexcept { return limit_; }
  [[nodiscard]] std::size_t physical() noexcept { return physical_; }
  [[nodiscard]] std::size_t processors() noexcept { return processors_; }
  [[nodiscard]] std::uint64_t now_ms() noexcept { return clock_ms_; }

 private:
  /// The system's page.
#if defined(_WIN32)
  static constexpr std::size_t granule = 4096;
#else
  static inline const std::size_t granule = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
#endif
  static constexpr std::size_t index(space_call kind) { return static_cast<std::size_t>(kind); }

  struct gap {
    std::size_t bytes;  ///< with the page before it, as the system's have one
  };
  [[nodiscard]] static void* gap_memory(std::uintptr_t begin) {
    return reinterpret_cast<void*>(begin - granule);
  }
  [[nodiscard]] bool in_gap(std::uintptr_t a) const {
    const auto after = gaps_.upper_bound(a);
    return after != gaps_.begin() &&
           a - std::prev(after)->first < std::prev(after)->second.bytes - granule;
  }
  [[nodiscard]] bool is_live(std::uintptr_t a, std::size_t bytes) const {
    const auto after = live_.lower_bound(a + bytes);
    return after != live_.begin() && std::prev(after)->first + std::prev(after)->second > a;
  }

  void split_claim(std::uintptr_t a) {
    const auto after = live_.lower_bound(a);
    if (after == live_.begin() || std::prev(after)->first + std::prev(after)->second <= a) return;
    const std::size_t before = a - std::prev(after)->first;
    live_.emplace(a, std::prev(after)->second - before);
    std::prev(live_.find(a))->second = before;
  }

  void* last_gap_ = nullptr;

  bool refuse(space_call kind) noexcept {
    const std::uint64_t n = ++calls_;
    ++calls_of_[index(kind)];
    const std::uint64_t at = fail_at_;
    const bool refused = fails_[index(kind)] || (at != 0 && (fail_all_after_ ? n >= at : n == at));
    if (refused) ++refused_[index(kind)];
    return refused;
  }
  bool beyond_max(std::size_t bytes) noexcept {
    const std::lock_guard guard(mutex_);
    return bytes > reserve_max_ || live_bytes_ > reserve_max_ - bytes;
  }
  /// Returns: a reservation at an odd multiple of the system's page; or null.
  static void* barely_aligned(void* (*reserve)(std::size_t) noexcept, std::size_t bytes) noexcept {
#if defined(_WIN32)  // what is given back has to begin where it was given
    return reserve(bytes);
#else
    if (bytes > SIZE_MAX - granule) return nullptr;
    char* const memory = static_cast<char*>(reserve(bytes + granule));
    if (memory == nullptr) return nullptr;
    const bool odd = reinterpret_cast<std::uintptr_t>(memory) / granule % 2 != 0;
    os::system_space::release(odd ? memory + bytes : memory, granule);
    return odd ? memory : memory + granule;
#endif
  }
  void* note(void* p, std::size_t bytes) noexcept {
    EXPECT_EQ(bytes % granule, 0u);
    if (p == nullptr) return nullptr;
    const std::lock_guard guard(mutex_);
    live_.emplace(reinterpret_cast<std::uintptr_t>(p), bytes);
    live_bytes_ += bytes;
    return p;
  }
  /// [p, p + bytes) must be whole pages of one live reservation.
  void check(const void* p, std::size_t bytes) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    const std::lock_guard guard(mutex_);
    auto next = live_.upper_bound(a);
    std::size_t left = bytes;
    bool inside = next != live_.begin() && a % granule == 0 && bytes % granule == 0 && bytes != 0;
    if (inside) {
      const auto& [begin, length] = *std::prev(next);
      inside = a - begin < length;
      left -= std::min(left, begin + length - a);
      // Claims that lie side by side are one.
      for (; inside && left != 0; ++next) {
        inside = in_gap(a) && next != live_.end() && next->first == a + (bytes - left);
        if (inside) left -= std::min(left, next->second);
      }
    }
    if (!inside) ADD_FAILURE() << p << ", " << bytes << " bytes, is not inside a reservation";
  }

  /// What a refused move took away may not be used before it is renewed.
  void check_mapped(const void* p, std::size_t bytes) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    const std::lock_guard guard(mutex_);
    for (const auto& [begin, end] : unmapped_)
      if (begin < a + bytes && a < end) ADD_FAILURE() << p << ": there is nothing mapped here";
  }

  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> calls_of_[space_call_count] = {};
  std::atomic<std::uint64_t> refused_[space_call_count] = {};
  std::atomic<bool> refused_moves_unmap_{false};
  std::atomic<bool> fails_[space_call_count] = {};
  bool ends_with_close_ = false;
  std::atomic<std::uint64_t> fail_at_{0};
  std::atomic<bool> fail_all_after_{false};
  std::atomic<std::size_t> reserve_max_{SIZE_MAX};
  // So much that the first range is in a gap, of 1 GiB: quick to reserve under every sanitizer.
  std::atomic<std::size_t> limit_{std::size_t{1} << 30};
  std::atomic<std::size_t> physical_{std::size_t{1} << 30};
  std::atomic<std::size_t> processors_{2};
  std::atomic<std::uint64_t> clock_ms_{0};
  std::function<void()> before_purge_;
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> live_;
  std::map<std::uintptr_t, gap> gaps_;
  std::atomic<std::size_t> gap_max_{SIZE_MAX};
  std::size_t live_bytes_ = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> unmapped_, not_renewed_, blocked_;
};

static_assert(address_space<test_space>);

}  // namespace ashlar::test
