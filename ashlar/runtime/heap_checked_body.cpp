// runtime/heap_checked_body.cpp: calls of a checked heap instance, and what its end tells.
// Layer: runtime.
#include <algorithm>
#include <bit>
#include <new>

#include <unistd.h>

#include <ashlar/check/checked_blocks.hpp>
#include <ashlar/check/copied_block.hpp>
#include <ashlar/check/leak_sites.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/runtime/heap_checked_body.hpp>

namespace ashlar::runtime {

/// The heap below: every block that it takes and gives back is counted.
class heap_checked_body::counted {
 public:
  explicit counted(heap_body& heap) noexcept : heap_(&heap) {}

  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment, bool&) const noexcept {
    void* const block = heap_->allocate_slow(bytes, alignment);
    if (block != nullptr) heap_->engine().note_allocation(block, bytes);
    return block;
  }
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) const noexcept {
    return heap_->engine().usable_size(block, call);
  }
  void give_back(void* block, const char* call) const noexcept {
    heap_->require_ours(block, call);
    heap_->engine().note_deallocation(block, call);
    heap_->deallocate_slow(block, call);
  }

 private:
  heap_body* heap_;
};

// ---- begin and end --------------------------------------------------------------------------------

namespace {

constexpr std::size_t bytes_of_self() noexcept {
  return align_up(sizeof(heap_checked_body), detail::page_size);
}

void write_site(const detail::leak_site& site) noexcept {
  line_writer<256> line;
  line << "ashlar: " << site.bytes << " bytes in " << site.blocks
       << (site.blocks == 1 ? " block" : " blocks") << " by " << site.call;
  if (site.at.depth != 0) line << ":";
  line.end_line();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  os::write_frames(site.at);
}

void tell(heap_leaks leaks, const fault& what) noexcept {
  if (leaks == heap_leaks::stop) ashlar_fault(what);
  ashlar_report(what);
}

}  // namespace

heap_checked_body* heap_checked_body::create(const any_source& source, std::size_t budget_bytes,
                                             const char* name, const heap_checks& checks) noexcept {
  heap_body* const body = heap_body::create(source, budget_bytes, name);
  if (body == nullptr) return nullptr;
  void* const memory = body->count_exactly()
                           ? os::page_source::allocate(bytes_of_self(), alignof(heap_checked_body))
                           : nullptr;
  if (memory == nullptr) {
    heap_body::destroy(body);
    return nullptr;
  }
  auto* const self = ::new (memory) heap_checked_body(body);
  if (checks.full) {
    detail::full_check_options options;
    options.queue_blocks = checks.queue_blocks;
    options.stack_depth = checks.stack_depth;
    options.name = name;
    options.compares_all_sizes = true;
    self->checks_.start(options);
    body->fork_with(self->checks_);
  }
  return self;
}

void heap_checked_body::destroy(heap_checked_body* self, heap_leaks leaks) noexcept {
  if (self->checks_.is_on()) self->checks_.look("~heap");
  if (leaks != heap_leaks::ignored) self->tell_leaks(leaks);
  heap_body::destroy(self->body_);
  self->checks_.end();
  self->~heap_checked_body();
  os::page_source::deallocate(self, bytes_of_self(), alignof(heap_checked_body));
}

/// Effects: one line for all blocks in use, after those of the places that made them; without full checks, one for
/// each class.
void heap_checked_body::tell_leaks(heap_leaks leaks) noexcept {
  fault what{.kind = fault_kind::leak, .call = "~heap", .pool = body_->name()};
  if (!checks_.is_on()) {
    ashlar_stats stats;
    collect(stats);
    const auto tell_class = [leaks, &what](const ashlar_class_stats& c) {
      what.block_size = static_cast<std::size_t>(c.block_size);
      what.blocks = static_cast<std::size_t>(c.blocks_in_use);
      if (what.blocks != 0) tell(leaks, what);
    };
    std::for_each(stats.classes, stats.classes + stats.class_count, tell_class);
    tell_class(stats.large);
    return;
  }
  bool is_of_one_size = true;
  checks_.for_each_live([&what, &is_of_one_size](const detail::block_record& r) {
    is_of_one_size = is_of_one_size && (what.blocks == 0 || what.block_size == r.size);
    what.block_size = r.size;
    ++what.blocks;
  });
  if (what.blocks == 0) return;
  if (!is_of_one_size) what.block_size = 0;
  const detail::leak_sites sites([this](auto visit) { checks_.for_each_live(visit); });
  for (const detail::leak_site& site : sites) write_site(site);
  tell(leaks, what);
}

// ---- calls ----------------------------------------------------------------------------------------

void* heap_checked_body::allocate_slow(std::size_t size, std::size_t alignment) noexcept {
  // What is no alignment is a fault there, and must not become one of its own on the way.
  bool zeroed = false;
  if (!checks_.is_on() || !std::has_single_bit(alignment))
    return counted(*body_).take(size, alignment, zeroed);
  return detail::allocate_checked(checks_, counted(*body_), size, alignment, false, "allocate");
}

void heap_checked_body::deallocate(std::uint64_t, void* block, const char* call) noexcept {
  if (block == nullptr) return;
  const counted heap(*body_);
  if (checks_.is_on() && detail::deallocate_checked(checks_, heap, block, call)) return;
  heap.give_back(block, call);  // with full checks: ends in a fault, since they know all there is
}

void heap_checked_body::expect_size(const void* block, std::size_t size,
                                    const char* call) noexcept {
  if (checks_.is_on())
    checks_.expect_size(block, size, call);  // what it does not know, `deallocate` finds
  else if (body_->owns(block))
    body_->engine().expect_size(block, size, call);
}

std::size_t heap_checked_body::usable_size(const void* block, const char* call) noexcept {
  if (checks_.is_on()) {
    const std::size_t size = checks_.size_of(block, call);
    if (size != detail::full_check::unknown) return size;
    checks_.expect_outside(block, call);
  }
  body_->require_ours(block, call);
  body_->engine().expect_live(block, call);
  return body_->engine().usable_size(block, call);
}

void* heap_checked_body::reallocate(void* block, std::size_t size, const char* call) noexcept {
  if (block == nullptr) return allocate_slow(size, 1);
  const std::size_t have = usable_size(block, call);
  // With full checks it moves, always: what still uses the old block is found then.
  if (!checks_.is_on() && body_->engine().resize_in_place(block, size, call) != 0) {
    body_->engine().note_resize(block, size);
    return block;
  }
  return detail::reallocate_by_copy(
      block, have, size, [&] { return allocate_slow(size, 1); },
      [&](void* old) { deallocate(id(), old, call); },
      [&](void* same) { return shrunk_in_place(same, size); });
}

void* heap_checked_body::shrunk_in_place(void* block, std::size_t size) noexcept {
  if (checks_.is_on())
    checks_.shrunk(block, size);
  else
    body_->engine().note_resize(block, size);
  return block;
}

// ---- figures --------------------------------------------------------------------------------------

void heap_checked_body::collect(ashlar_stats& out) noexcept {
  body_->collect(out);
  out.total.accuracy = ASHLAR_ACCURACY_EXACT;
  out.total.metadata_bytes += bytes_of_self() + checks_.memory_bytes();
}

void heap_checked_body::audit() noexcept {
  body_->audit();
  if (checks_.is_on()) checks_.look("audit");
}

}  // namespace ashlar::runtime
