// check/full_check.cpp: guards, patterns, the queue of freed blocks, and what is told of a misuse.
// Layer: check.
#include <algorithm>
#include <cstring>
#include <mutex>

#include <ashlar/check/full_check.hpp>
#include <ashlar/core/bits.hpp>

namespace ashlar::detail {
namespace {

/// The front guard keeps the caller's address at a multiple of the alignment.
std::size_t front_bytes(std::size_t alignment) noexcept {
  return std::max(full_check::guard_bytes_min, alignment);
}

}  // namespace

std::size_t full_check::bytes_for(std::size_t size, std::size_t alignment) noexcept {
  std::size_t bytes = 0;
  return __builtin_add_overflow(size, front_bytes(alignment) + guard_bytes_min, &bytes) ? 0 : bytes;
}

void* full_check::made(void* block, std::size_t block_bytes, std::size_t size,
                       std::size_t alignment, first_bytes first, const char* call) noexcept {
  auto* const begin = static_cast<std::byte*>(block);
  std::byte* const address = begin + front_bytes(alignment);
  // Filled before anybody can look at it.
  fill_ends(begin, static_cast<std::size_t>(address - begin), guard_fill);
  if (first == first_bytes::filled) fill_ends(address, size, fresh_fill);
  if (first == first_bytes::zeros) std::memset(address, 0, size);
  fill_ends(address + size, static_cast<std::size_t>(begin + block_bytes - (address + size)),
            guard_fill);
  const deed maker =
      deed_now(call, options_.stack_depth);  // before the lock: the unwinder's first use allocates
  const std::lock_guard guard(mutex_);
  block_record* const r = records_.add(address);
  if (r == nullptr) return nullptr;
  r->size = size;
  r->block = block;
  r->block_bytes = block_bytes;
  r->made = maker;
  return address;
}

full_check::freed_result full_check::freed(void* address, const char* call) noexcept {
  const deed end = deed_now(call, options_.stack_depth);
  const char* made_by = nullptr;
  const freed_result result = freed(address, call, end, families::unknown, made_by);
  return made_by == nullptr ? result
                            : freed(address, call, end, families_here(made_by, call), made_by);
}

full_check::freed_result full_check::freed(void* address, const char* call, const deed& end,
                                           families known, const char*& made_by) noexcept {
  const std::lock_guard guard(mutex_);
  block_record* const r = records_.find(address);
  if (r == nullptr) return {};
  constexpr freed_result dropped = {.known = true};
  if (r->freed.call != nullptr) {
    fail(fault_kind::double_free, *r, address, call);
    return dropped;
  }
  if (!expect_untouched(*r, call)) {
    r->freed = end;  // its record stays
    return dropped;
  }
  if (known != families::not_told_apart && !are_of_one_family(r->made.call, call)) {
    if (known == families::unknown)
      made_by = r->made.call;
    else
      fail(fault_kind::mismatched_call, *r, address, call);
    return dropped;
  }
  r->freed = end;
  fill_ends(r->address, r->size, freed_fill);
  (newest_ != nullptr ? newest_->next_in_queue : oldest_) = r;
  newest_ = r;
  queued_bytes_ += r->size;
  ++queued_blocks_;
  return {.known = true, .leaving = leave(options_.queue_bytes, options_.queue_blocks, call)};
}

block_record* full_check::emptied_queue(const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  return leave(0, 0, call);
}

/// Effects: the oldest leave the queue, until no more than that wait. Returns: the list of those
/// that the heap may have.
block_record* full_check::leave(std::size_t bytes_max, std::size_t blocks_max,
                                const char* call) noexcept {
  block_record* leaving = nullptr;
  block_record** last = &leaving;
  while (oldest_ != nullptr && (queued_bytes_ > bytes_max || queued_blocks_ > blocks_max)) {
    block_record* const out = oldest_;
    oldest_ = out->next_in_queue;
    if (oldest_ == nullptr) newest_ = nullptr;
    queued_bytes_ -= out->size;
    --queued_blocks_;
    out->next_in_queue = nullptr;
    if (!expect_untouched(*out, call)) continue;  // its record stays: it is never used again
    records_.take_out(out);
    *last = out;
    last = &out->next_in_queue;
  }
  return leaving;
}

void full_check::forget(block_record* leaving) noexcept {
  const std::lock_guard guard(mutex_);
  while (leaving != nullptr) {
    block_record* const next = leaving->next_in_queue;
    records_.put_by(leaving);
    leaving = next;
  }
}

void full_check::shrunk(const void* address, std::size_t size) noexcept {
  const std::lock_guard guard(mutex_);
  block_record* const r = records_.find(address);
  std::memset(r->address + size, guard_fill, r->size - size);
  r->size = size;
}

std::size_t full_check::size_of(const void* address, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record* const r = records_.find(address);
  if (r == nullptr) return unknown;
  if (r->freed.call == nullptr) return r->size;
  fail(fault_kind::double_free, *r, address, call);
  return none;
}

bool full_check::is_live(const void* address) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record* const r = records_.find(address);
  return r != nullptr && r->freed.call == nullptr;
}

bool full_check::expect_size(const void* address, std::size_t size, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record* const r = records_.find(address);
  if (r == nullptr || r->freed.call != nullptr || r->size == size ||
      !(options_.compares_all_sizes || is_of_cxx(r->made.call)))
    return true;
  fail(fault_kind::wrong_size, *r, address, call);
  return false;
}

bool full_check::expect_outside(const void* address, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const auto* const p = static_cast<const std::byte*>(address);
  const block_record* around = nullptr;
  records_.for_each([&](const block_record& r) {
    const auto* const begin = static_cast<const std::byte*>(r.block);
    if (p >= begin && p < begin + r.block_bytes) around = &r;
  });
  if (around == nullptr) return true;
  fail(fault_kind::interior_pointer, *around, address, call);
  return false;
}

std::size_t full_check::look(const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  for (;;) {
    std::size_t live = 0;
    block_record* spoilt = nullptr;
    records_.for_each([&](block_record& r) {
      const bool is_freed = r.freed.call != nullptr;
      if (!r.is_spoilt && spoilt == nullptr && find_spoilt(r, is_freed).at != nullptr) spoilt = &r;
      live += is_freed ? 0 : 1;
    });
    if (spoilt == nullptr) return live;
    // The table may be another one after this: from its beginning.
    expect_untouched(*spoilt, call);
  }
}

bool full_check::expect_untouched(block_record& r, const char* call) noexcept {
  if (r.is_spoilt) return false;
  const spoilt s = find_spoilt(r, r.freed.call != nullptr);
  if (s.at == nullptr) return true;
  r.is_spoilt = true;
  fail(s.kind, r, s.at, call);
  return false;
}

void full_check::fail(fault_kind kind, const block_record& r, const void* address,
                      const char* call) noexcept {
  const block_record what = r;
  mutex_.unlock();  // whoever handles the fault may allocate
  const deed found = deed_now(call, options_.stack_depth);
  misuse({.kind = kind,
          .call = call,
          .address = address,
          .block_size = what.size,
          .pool = options_.name},
         history_of(what, "found", found));
  mutex_.lock();
}

}  // namespace ashlar::detail
