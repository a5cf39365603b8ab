// check/guarded_blocks.cpp: slots, their queue, and what is told of an access that the system
// refused.
// Layer: check.
#include <algorithm>
#include <cstring>
#include <mutex>

#include <ashlar/check/guarded_blocks.hpp>
#include <ashlar/check/misuse_report.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::detail {

using space = os::system_space;

namespace {

/// Returns: how many slots a process may have that may have so many bytes of addresses.
constexpr std::size_t slots_for(std::size_t addresses) noexcept {
  return addresses / 8 / guarded_blocks::slot_bytes;
}

/// Effects: [p, p + bytes) of a gap is ours and closed. Returns: false, with nothing changed, when
/// the system refused.
bool close_claimed(std::byte* p, std::size_t bytes) noexcept {
  if (!space::claim(p, bytes)) return false;
  if (space::close(p, bytes)) return true;
  space::release(p, bytes);
  return false;
}

/// Returns: a number at random. xorshift (Marsaglia, "Xorshift RNGs", 2003).
std::uint32_t draw(guard_turn& thread) noexcept {
  std::uint32_t x = thread.random;
  if (x == 0) {
    const std::uint64_t seed =
        (os::system_space::now_ms() ^ reinterpret_cast<std::uintptr_t>(&thread) ^
         (std::uint64_t{os::thread_number()} << 32)) *
        0x9e3779b97f4a7c15u;
    x = static_cast<std::uint32_t>(seed >> 32) | 1u;
  }
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return thread.random = x;
}
}  // namespace

bool guarded_blocks::is_turn_at_last(guard_turn& thread) const noexcept {
  if (thread.until == 0) {
    const auto n = static_cast<std::uint32_t>(options_.one_of);
    thread.until = n == 1 ? 1 : 1 + draw(thread) % (2 * n - 1);
  }
  return --thread.until == 0;
}

closed_side guarded_blocks::side_for(guard_turn& thread) const noexcept {
  const std::size_t n = options_.before_one_of;
  return n != 0 && draw(thread) % n == 0 ? closed_side::before : closed_side::behind;
}

bool guarded_blocks::start(const guard_options& options) noexcept {
  options_ = options;
  std::size_t slots = std::min({options.slots, slots_max, slots_for(space::limit())});
  if (options.one_of == 0 || slots == 0) return false;
  records_ = static_cast<block_record*>(
      os::page_source::allocate(slots * sizeof(block_record), alignof(block_record)));
  if (records_ == nullptr) return false;
  slots_ = slots;
  begin_ = find_gap();
  if (begin_ != nullptr) return true;
  // One slot more, for a closed page before the first; aligned, so that blocks of any alignment fit
  // alike.
  void* reserved = space::reserve((slots + 1) * slot_bytes);
  while (reserved == nullptr && slots > 1) {
    slots /= 2;
    reserved = space::reserve((slots + 1) * slot_bytes);
  }
  if (reserved == nullptr) {
    os::page_source::deallocate(records_, slots_ * sizeof(block_record), alignof(block_record));
    return false;
  }
  slots_ = slots;
  const auto first = reinterpret_cast<std::uintptr_t>(reserved) + detail::page_size;
  begin_ = static_cast<std::byte*>(reserved) +
           (align_up(first, slot_bytes) - reinterpret_cast<std::uintptr_t>(reserved));
  reserved_.store(slots, std::memory_order_relaxed);
  return true;
}

/// Returns: where the slots are to be, of which the first ones are reserved, and the page before
/// them; null without room.
std::byte* guarded_blocks::find_gap() noexcept {
  std::size_t bytes = (slots_ + 2) * slot_bytes;
  const std::size_t wanted = bytes;
  void* const found = space::find_gap(records_, bytes);
  if (found == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(found);
  begin_ = static_cast<std::byte*>(found) +
           (align_up(address + detail::page_size, slot_bytes) - address);
  if (bytes == wanted && close_claimed(begin_ - detail::page_size, detail::page_size) &&
      reserve_slots(slots_a_step)) {
    in_room_ = true;
    return begin_;
  }
  space::leave_gap(found);
  return begin_ = nullptr;
}

/// Effects: so many slots more are reserved, or as many as there are. Returns: false when the
/// system refused.
bool guarded_blocks::reserve_slots(std::size_t count) noexcept {
  const std::size_t now = reserved_.load(std::memory_order_relaxed);
  // The limit may have come since the start.
  const std::size_t most = std::min(slots_, slots_for(space::limit()));
  if (now >= most) return false;
  count = std::min(count, most - now);
  if (!close_claimed(begin_ + now * slot_bytes, count * slot_bytes)) return false;
  reserved_.store(now + count, std::memory_order_relaxed);
  return true;
}

block_record* guarded_blocks::take_slot() noexcept {
  const std::lock_guard guard(mutex_);
  if (used_ != reserved_.load(std::memory_order_relaxed) || reserve_slots(slots_a_step))
    return &records_[used_++];
  block_record* const r = oldest_;
  if (r == nullptr) {
    ++counts_.refused;
    return nullptr;
  }
  oldest_ = r->next_in_queue;
  if (oldest_ == nullptr) newest_ = nullptr;
  r->next_in_queue = nullptr;
  return r;
}

void guarded_blocks::put_slot(block_record* r) noexcept {
  (newest_ != nullptr ? newest_->next_in_queue : oldest_) = r;
  newest_ = r;
}

/// Requires: size, not 0, and what the alignment may leave over fit into the slot's room.
guarded_blocks::place guarded_blocks::place_in(std::size_t index, std::size_t size,
                                               std::size_t alignment,
                                               closed_side side) const noexcept {
  std::byte* const slot = begin_ + index * slot_bytes;  // a multiple of every alignment that fits
  if (side == closed_side::before) return {slot, slot, align_up(size, detail::page_size)};
  std::byte* const address = slot + align_down(room - size, alignment);
  std::byte* const pages =
      slot + align_down(static_cast<std::size_t>(address - slot), detail::page_size);
  return {address, pages, static_cast<std::size_t>(slot + room - pages)};
}

void* guarded_blocks::allocate(std::size_t size, std::size_t alignment, bool zeroed,
                               const char* call, closed_side side) noexcept {
  // What an alignment may leave over fits, too.
  alignment = std::max(alignment, block_granule);
  if (alignment > room || size > room - alignment) return nullptr;
  block_record* const r = take_slot();
  if (r == nullptr) return nullptr;
  // A block of no bytes has an address of its own, too.
  const auto [address, pages, page_bytes] = place_in(
      static_cast<std::size_t>(r - records_), std::max<std::size_t>(size, 1), alignment, side);
  if (!space::commit(pages, page_bytes)) {
    const std::lock_guard guard(mutex_);
    put_slot(r);
    ++counts_.refused;
    return nullptr;
  }
  std::memset(pages, guard_fill, static_cast<std::size_t>(address - pages));
  std::memset(address + size, guard_fill,
              static_cast<std::size_t>(pages + page_bytes - (address + size)));
  if (options_.fills && !zeroed) std::memset(address, fresh_fill, size);
  const deed maker = deed_now(call, options_.stack_depth);  // before the lock: it may allocate

  const std::lock_guard guard(mutex_);
  *r = {.address = address,
        .size = size,
        .block = pages,
        .block_bytes = page_bytes,
        .made = maker,
        .freed = {},
        .next_in_bucket = nullptr,
        .next_in_queue = nullptr};
  ++counts_.made;
  counts_.live_peak = std::max(counts_.live_peak, counts_.made - counts_.freed);
  counts_.page_bytes += page_bytes;
  counts_.page_bytes_peak = std::max(counts_.page_bytes_peak, counts_.page_bytes);
  counts_.asked_bytes += size;
  return address;
}

void guarded_blocks::free(void* address, const char* call) noexcept {
  const deed end = deed_now(call, options_.stack_depth);
  block_record* r = nullptr;
  bool is_whole = false;
  const char* made_by = nullptr;
  for (families known = families::unknown; r == nullptr;) {
    if (made_by != nullptr) known = families_here(made_by, call);
    const std::lock_guard guard(mutex_);
    block_record* const found = expect_live(address, call);
    if (found == nullptr) return;
    is_whole = expect_untouched(*found, call);
    if (!is_live(*found)) return;  // freed by another thread while that was told
    made_by = found->made.call;
    const bool agree = !is_whole || are_of_one_family(made_by, call);
    if (!agree && known == families::told_apart)
      return fail(fault_kind::mismatched_call, *found, address, call);
    if (!agree && known == families::unknown) continue;
    r = found;
    r->freed = end;
    ++counts_.freed;
    counts_.page_bytes -= r->block_bytes;
    counts_.asked_bytes -= r->size;
  }
  // Nobody else uses the record's places until it is in the queue.
  const bool closed = space::close(r->block, r->block_bytes);
  const std::lock_guard guard(mutex_);
  if (!closed) return;  // the slot is lost: its bytes are not what a fresh block's are
  counts_.given_back_bytes += r->block_bytes;
  if (is_whole) put_slot(r);
}

std::size_t guarded_blocks::size_of(const void* address, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record* const r = expect_live(address, call);
  return r != nullptr ? r->size : none;
}

bool guarded_blocks::is_live(const void* address) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record& r = records_[index_of(address)];
  return r.address == address && is_live(r);
}

bool guarded_blocks::expect_size(const void* address, std::size_t size, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record& r = records_[index_of(address)];
  if (r.address != address || !is_live(r) || r.size == size || !is_of_cxx(r.made.call)) return true;
  fail(fault_kind::wrong_size, r, address, call);
  return false;
}

std::size_t guarded_blocks::look(const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  std::size_t live = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    if (!is_live(records_[i])) continue;
    expect_untouched(records_[i], call);
    ++live;
  }
  return live;
}

void guarded_blocks::add_to(ashlar_stats& stats) noexcept {
  if (!is_on()) return;
  const std::lock_guard guard(mutex_);
  const std::uint64_t live = counts_.made - counts_.freed;
  const std::uint64_t slack = counts_.page_bytes - counts_.asked_bytes;
  ashlar_class_stats& large = stats.large;
  large.blocks_made += counts_.live_peak;
  large.blocks_in_use += live;
  large.peak_in_use += counts_.live_peak;
  large.peak_bytes += counts_.page_bytes_peak;
  large.allocations += counts_.made;
  large.frees += counts_.freed;
  large.slack_bytes += slack;
  large.slabs += live;
  large.committed_bytes += counts_.page_bytes;
  ashlar_total_stats& total = stats.total;
  total.bytes_in_use += counts_.page_bytes;
  total.peak_bytes_in_use += counts_.page_bytes_peak;
  total.allocations += counts_.made;
  total.frees += counts_.freed;
  total.slack_bytes += slack;
  const std::size_t slots = reserved_.load(std::memory_order_relaxed);
  total.reserved_bytes +=
      in_room_ ? slots * slot_bytes + detail::page_size : (slots + 1) * slot_bytes;
  total.committed_bytes += counts_.page_bytes;
  total.peak_committed_bytes += counts_.page_bytes_peak;
  total.given_back_bytes += counts_.given_back_bytes;
  total.metadata_bytes += used_ * sizeof(block_record);
  total.guards_refused += counts_.refused;
}

block_record* guarded_blocks::expect_live(const void* address, const char* call) noexcept {
  block_record& r = records_[index_of(address)];
  const auto* const p = static_cast<const std::byte*>(address);
  if (p == r.address && r.freed.call == nullptr) return &r;
  const bool inside = r.address != nullptr && p > r.address && p < r.address + r.size;
  const auto kind = p == r.address ? fault_kind::double_free
                    : inside       ? fault_kind::interior_pointer
                                   : fault_kind::not_in_use;
  fail(kind, r, address, call);
  return nullptr;
}

bool guarded_blocks::expect_untouched(block_record& r, const char* call) noexcept {
  if (r.is_spoilt) return false;
  const spoilt s = find_spoilt(r, false);
  if (s.at == nullptr) return true;
  r.is_spoilt = true;
  fail(s.kind, r, s.at, call);
  return false;
}

void guarded_blocks::fail(fault_kind kind, const block_record& r, const void* address,
                          const char* call) noexcept {
  const block_record what = r;
  mutex_.unlock();  // whoever handles the fault may allocate
  const deed found = deed_now(call, options_.stack_depth);
  misuse({.kind = kind, .call = call, .address = address, .block_size = what.size},
         history_of(what, "found", found));
  mutex_.lock();
}

/// Returns: the block, live or freed, that `address` is likeliest to be meant for: the nearest;
/// null without any.
/// Requires: it is in a slot, or in the page before the first.
const block_record* guarded_blocks::nearest(const std::byte* address) const noexcept {
  const std::size_t own = index_of(address + detail::page_size);
  const block_record* best = nullptr;
  std::ptrdiff_t best_distance = PTRDIFF_MAX;
  for (const std::size_t i : {own, own - 1, own + 1}) {
    if (i >= slots_ || records_[i].address == nullptr) continue;
    const block_record& r = records_[i];
    const std::byte* const behind = r.address + r.size;
    const std::ptrdiff_t distance = address < r.address ? r.address - address
                                    : address >= behind ? address - behind + 1
                                                        : 0;
    if (distance < best_distance) {
      best = &r;
      best_distance = distance;
    }
  }
  return best;
}

void guarded_blocks::report(const os::access_fault& access) noexcept {
  const auto* const p = static_cast<const std::byte*>(access.address);
  // The page before the first slot is closed as all others are.
  if (!contains(p) && !contains(p + detail::page_size)) return;
  // Whoever holds the lock may be the thread that this interrupted, so it is only tried. Without it
  // the record may change while it is copied: then the lines mix the two blocks that the slot had
  // before and after.
  const bool locked = mutex_.try_lock();
  const block_record* const found = nearest(p);
  const block_record block = found != nullptr ? *found : block_record{};
  if (locked) mutex_.unlock();

  const char* const call = os::name_of(access.kind);
  deed accessed{.call = nullptr, .thread = os::thread_number(), .at = {}};
  os::capture_interrupted(accessed.at, std::max(options_.stack_depth, 1u), access.instruction);
  fault_kind kind = fault_kind::not_in_use;
  if (block.address != nullptr) {
    const auto* const pages = static_cast<const std::byte*>(block.block);
    if (block.freed.call != nullptr && p >= pages && p < pages + block.block_bytes)
      kind = fault_kind::access_after_free;
    else if (p < block.address)
      kind = fault_kind::access_before;
    else if (p >= block.address + block.size)
      kind = fault_kind::access_behind;
  }
  end_in_fault({.kind = kind, .call = call, .address = p, .block_size = block.size},
               history_of(block, call, accessed));
}

}  // namespace ashlar::detail
