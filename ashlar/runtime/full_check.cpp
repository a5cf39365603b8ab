// runtime/full_check.cpp: guards, patterns, the queue of freed blocks, and what is told of a misuse.
// Layer: runtime.
#include <algorithm>
#include <cstring>
#include <mutex>

#include <unistd.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/runtime/full_check.hpp>

namespace ashlar::runtime {
namespace {

/// The front guard keeps the caller's address at a multiple of the alignment.
std::size_t front_bytes(std::size_t alignment) noexcept {
  return std::max(full_check::guard_bytes_min, alignment);
}

/// Returns: the first byte in [from, to) that is not `value`; `to` when all are.
const std::byte* first_other(const std::byte* from, const std::byte* to,
                             std::uint8_t value) noexcept {
  return std::find_if(from, to, [value](std::byte b) { return b != std::byte{value}; });
}

/// Calls whose blocks only calls of the same family may free; what is in no family may free all.
enum class call_family : std::uint8_t { any, c, cxx };
call_family family_of(const char* call) noexcept {
  for (const char* name : {"malloc", "calloc", "realloc", "reallocarray", "posix_memalign",
                           "aligned_alloc", "memalign", "valloc", "pvalloc", "free"})
    if (std::strcmp(call, name) == 0) return call_family::c;
  for (const char* name : {"operator new", "operator delete"})
    if (std::strcmp(call, name) == 0) return call_family::cxx;
  return call_family::any;
}
bool match(const char* made_by, const char* freed_by) noexcept {
  const call_family a = family_of(made_by), b = family_of(freed_by);
  return a == call_family::any || b == call_family::any || a == b;
}

template <std::size_t N>
void write(line_writer<N>& line) noexcept {
  line.end_line();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void tell(const char* what, const deed& d) noexcept {
  if (d.call == nullptr) return;
  line_writer<256> line;
  line << "ashlar: " << what << " by " << d.call << " in thread " << d.thread;
  if (d.at.depth != 0) line << ":";
  write(line);
  os::write_frames(d.at);
}

}  // namespace

std::size_t full_check::bytes_for(std::size_t size, std::size_t alignment) noexcept {
  std::size_t bytes = 0;
  return __builtin_add_overflow(size, front_bytes(alignment) + guard_bytes_min, &bytes) ? 0 : bytes;
}

void full_check::note(deed& d, const char* call) const noexcept {
  d.call = call;
  d.thread = os::thread_number();
  os::capture(d.at, options_.stack_depth);
}

void* full_check::made(void* block, std::size_t block_bytes, std::size_t size,
                       std::size_t alignment, bool zeroed, const char* call) noexcept {
  auto* const begin = static_cast<std::byte*>(block);
  std::byte* const address = begin + front_bytes(alignment);
  // Filled before anybody can look at it.
  std::memset(begin, guard_fill, static_cast<std::size_t>(address - begin));
  std::memset(address, zeroed ? 0 : fresh_fill, size);
  std::memset(address + size, guard_fill,
              static_cast<std::size_t>(begin + block_bytes - (address + size)));
  deed maker;
  note(maker, call);  // before the lock: the unwinder's first use allocates
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
  deed end;
  note(end, call);
  std::unique_lock guard(mutex_);
  block_record* const r = records_.find(address);
  if (r == nullptr) return {};
  if (r->freed.call != nullptr) fail(fault_kind::double_free, *r, address, call);
  expect_untouched(*r, call);
  if (!match(r->made.call, call)) fail(fault_kind::mismatched_call, *r, address, call);
  r->freed = end;
  std::memset(r->address, freed_fill, r->size);
  (newest_ != nullptr ? newest_->next_in_queue : oldest_) = r;
  newest_ = r;
  queued_bytes_ += r->size;

  freed_result result{.known = true};
  block_record** last = &result.leaving;
  while (queued_bytes_ > options_.queue_bytes) {
    block_record* const out = oldest_;
    expect_untouched(*out, call);
    oldest_ = out->next_in_queue;
    if (oldest_ == nullptr) newest_ = nullptr;
    queued_bytes_ -= out->size;
    out->next_in_queue = nullptr;
    records_.take_out(out);
    *last = out;
    last = &out->next_in_queue;
  }
  return result;
}

void full_check::forget(block_record* leaving) noexcept {
  const std::lock_guard guard(mutex_);
  while (leaving != nullptr) {
    block_record* const next = leaving->next_in_queue;
    records_.put_by(leaving);
    leaving = next;
  }
}

std::size_t full_check::size_of(const void* address, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const block_record* const r = records_.find(address);
  if (r == nullptr) return unknown;
  if (r->freed.call != nullptr) fail(fault_kind::double_free, *r, address, call);
  return r->size;
}

void full_check::expect_outside(const void* address, const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  const auto* const p = static_cast<const std::byte*>(address);
  records_.for_each([&](const block_record& r) {
    const auto* const begin = static_cast<const std::byte*>(r.block);
    if (p >= begin && p < begin + r.block_bytes)
      fail(fault_kind::interior_pointer, r, address, call);
  });
}

std::size_t full_check::look(const char* call) noexcept {
  const std::lock_guard guard(mutex_);
  std::size_t live = 0;
  records_.for_each([&](const block_record& r) {
    expect_untouched(r, call);
    live += r.freed.call == nullptr ? 1 : 0;
  });
  return live;
}

void full_check::expect_untouched(const block_record& r, const char* call) noexcept {
  const auto* const begin = static_cast<const std::byte*>(r.block);
  const std::byte* const behind = r.address + r.size;
  const std::byte* const end = begin + r.block_bytes;
  if (const std::byte* const p = first_other(behind, end, guard_fill); p != end)
    fail(fault_kind::overflow, r, p, call);
  if (const std::byte* const p = first_other(begin, r.address, guard_fill); p != r.address)
    fail(fault_kind::underflow, r, p, call);
  if (r.freed.call == nullptr) return;
  if (const std::byte* const p = first_other(r.address, behind, freed_fill); p != behind)
    fail(fault_kind::use_after_free, r, p, call);
}

void full_check::fail(fault_kind kind, const block_record& r, const void* address,
                      const char* call) noexcept {
  const block_record what = r;
  mutex_.unlock();  // whoever handles the fault may allocate
  const auto* const p = static_cast<const std::byte*>(address);
  line_writer<256> line;
  line << "ashlar: " << address << " is ";
  const auto bytes = [&line](std::ptrdiff_t n) {
    line << static_cast<std::size_t>(n) << (n == 1 ? " byte" : " bytes");
  };
  if (p < what.address) {
    bytes(what.address - p);
    line << " before";
  } else if (p >= what.address + what.size) {
    bytes(p - (what.address + what.size) + 1);
    line << " past the end of";
  } else {
    line << "byte " << static_cast<std::size_t>(p - what.address) << " of";
  }
  line << " the block of " << what.size << " bytes at " << static_cast<const void*>(what.address);
  write(line);
  tell("allocated", what.made);
  tell("freed", what.freed);
  ashlar_fault({.kind = kind, .call = call, .address = address, .block_size = what.size});
}

}  // namespace ashlar::runtime
