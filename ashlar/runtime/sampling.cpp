// runtime/sampling.cpp: blocks are sampled, and profiles are written when it is time.
// Layer: runtime.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>

#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/clock.hpp>
#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/probe.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/replaced_file.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/os/signals.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/sampling.hpp>
#include <ashlar/runtime/say_once.hpp>
#include <ashlar/runtime/tags.hpp>

namespace ashlar::runtime {

constinit std::atomic<std::uint64_t> sampled_every{0};
constinit detail::sampled_blocks samples;

namespace {

/// What the environment says, and what was written until now.
struct {
  char file[os::replaced_path_max] = {};     ///< empty: none
  std::uint64_t interval_ns = 0;             ///< 0: none
  bool guards = false;                       ///< some samples are guarded blocks
  std::size_t first_process = 0;             ///< the one that read the environment
  std::atomic<std::uint64_t> begun_ns{0};    ///< 0: nothing was ever sampled
  std::atomic<std::uint64_t> last_every{0};  ///< what `sampled_every` was last, if it was ever on
  std::atomic<detail::exchangeable<bool>> is_changing{false};  ///< a thread begins or ends sampling
  std::atomic<std::uint64_t> due_ns{UINT64_MAX};
  std::atomic<bool> is_asked{false};  ///< a signal came
  /// A thread writes a file: no other one does then.
  std::atomic<detail::exchangeable<bool>> is_writing{false};
  std::atomic<detail::exchangeable<bool>> has_complained{false};
  std::atomic<detail::exchangeable<bool>> told_of_long_tag{false};
  std::atomic<detail::exchangeable<bool>> told_of_many_tags{false};
  std::size_t written = 0;
} constinit the;

/// Numbers that differ from thread to thread, and from run to run.
[[nodiscard]] std::uint64_t new_seed() noexcept {
  return os::steady_ns() ^ reinterpret_cast<std::uintptr_t>(&own_hits) ^
         std::uint64_t{os::thread_number()} << 40;
}

/// Effects: an allocation of `size` leaves the gap. Returns: 0, or the mean of the gap that ends
/// there.
[[nodiscard]] std::uint64_t gap_ended_at(std::size_t size) noexcept {
  const std::uint64_t every = sampled_every_now();
  return every != 0 ? own_hits.gap.ended_at(size, every, new_seed) : 0;
}

/// Returns: the number of the calling thread's tag; 0: it has none.
[[nodiscard]] unsigned own_tag() noexcept {
  if (innermost_tag == nullptr) return 0;
  constexpr std::size_t bytes_max = detail::sampled_tag::name_bytes_max;
  char room[bytes_max];
  const std::size_t length = read_own_tag(room, bytes_max);
  if (length == 0) return 0;
  const std::string_view name(room, std::min(length, bytes_max));
  if (length > bytes_max)
    say_once(the.told_of_long_tag, "ashlar: a tag has at most ", bytes_max,
             " characters: the rest is left out behind \"", name, "\"");
  unsigned number = 0;
  if (const look at; true) number = samples.number_of(name);
  if (number == samples.other_tags)
    say_once(the.told_of_many_tags, "ashlar: there are more than ", samples.tags_max, " tags: \"",
             name, "\" and all later ones count as \"(other)\"");
  return number;
}

void tell_tracers(const void* block, std::size_t size, double weight) noexcept {
  os::probe_alloc(block, size, static_cast<std::size_t>(weight * static_cast<double>(size)));
}

/// Effects: `block` is sampled, at the end of a gap of that mean.
void note(const void* block, std::size_t size, std::uint64_t every) noexcept {
  if (the_heap.is_sealed()) return;
  const void* frames[os::frames_max];
  const unsigned depth = os::capture_frames(frames, os::frames_max);  // it may allocate
  const unsigned tag = own_tag();
  const double weight = detail::blocks_for_one(size, every);
  if (const look at; true)  // also while another thread forks
    samples.add(block, size, weight, os::steady_ns(), frames, depth, tag);
  tell_tracers(block, size, weight);
  if (tag != 0) the_limit.note_tag(tag);
}

/// Returns: a block that no free hits; zero if it is to be `zeroed`. Null when there is none.
[[nodiscard]] void* take_outside_of_slabs(std::size_t size, std::size_t alignment,
                                          bool zeroed) noexcept {
  note_allocation();
  const visit here;
  if (!here.is_inside()) return nullptr;
  const auto made = the_heap.allocate_large(size, alignment, zeroed, own_cache());
  return zeroed ? made.cleared(size) : made.address;
}

/// Returns: a guarded block; null if it is another's turn, or it cannot be.
[[nodiscard]] void* take_guarded(std::size_t size, std::size_t alignment, bool zeroed,
                                 const char* call) noexcept {
  detail::guarded_blocks& guards = *the_watch.guards;
  if (!the.guards || !guards.is_turn_of(self.turn) || the_heap.is_sealed()) return nullptr;
  return guards.allocate(size, alignment, zeroed, call, guards.side_for(self.turn));
}

// ---- files --------------------------------------------------------------------------------------

void complain(const char* path, int error) noexcept {
  say_once(the.has_complained, "ashlar: cannot write ",
           std::string_view(path, ::strnlen(path, 300)),
           " (ASHLAR_SAMPLE_FILE): ", os::describe_error(error));
}

/// Effects: writes a profile to the file that the environment names. What was forked adds its
/// number to the name where that has none.
void write_file() noexcept {
  if (the.is_writing.exchange(true, std::memory_order_acquire)) return;
  the.is_asked.store(false, std::memory_order_relaxed);
  char path[os::replaced_path_max];
  bool fits = os::expand_path(the.file, path, sizeof path, the.written + 1);
  if (fits && os::process_number() != the.first_process && !os::has_place(the.file, 'p')) {
    const std::size_t used = std::strlen(path);
    fits = os::expand_path(".%p", path + used, sizeof path - used);
  }
  const int error = fits ? write_samples(path) : ENAMETOOLONG;
  if (error != 0)
    complain(fits ? path : the.file, error);
  else
    ++the.written;
  the.is_writing.store(false, std::memory_order_release);
}

/// Effects: writes a file if a signal asked for it, or it is time. Called where no lock is held.
void write_if_due() noexcept {
  if (the.is_asked.load(std::memory_order_relaxed)) return write_file();
  std::uint64_t due = the.due_ns.load(std::memory_order_relaxed);
  if (due == UINT64_MAX) return;
  const std::uint64_t now = os::steady_ns();
  if (now >= due && the.due_ns.compare_exchange_strong(due, now + the.interval_ns)) write_file();
}

void note_signal(int) noexcept { the.is_asked.store(true, std::memory_order_relaxed); }

}  // namespace

// ---- calls --------------------------------------------------------------------------------------

void* allocate_sampling(std::size_t size, std::size_t alignment, bool zeroed,
                        const char* call) noexcept {
  // As in a miss: above this size a run that is known to be zero is worth more.
  const bool as_run = zeroed && size > detail::shared_slab_block_max;
  void* block = as_run ? nullptr : hit_in_gap(size, alignment);
  if (block != nullptr) return zeroed ? std::memset(block, 0, size) : block;
  const std::uint64_t gap = gap_ended_at(size);
  if (gap == 0) {
    block = take(size, alignment, zeroed, call, next_front(front::sampled));
  } else {
    block = take_guarded(size, alignment, zeroed, call);
    const bool hits = is_plain();  // only a block in no slab can be a sampled one then
    if (block == nullptr && hits) block = take_outside_of_slabs(size, alignment, zeroed);
    const bool is_safe = block != nullptr || !hits;
    if (block == nullptr) block = take(size, alignment, zeroed, call, next_front(front::sampled));
    // No free of a block of the reserve hits, either.
    if (block != nullptr && (is_safe || reserve.contains(block))) note(block, size, gap);
  }
  if (self.pass.depth == 0) write_if_due();
  return block;
}

void end_sample(const void* block) noexcept {
  if (!samples.may_contain(block)) return;
  const look at;
  if (detail::block_sample* const s = samples.take(block); s != nullptr) {
    os::probe_free(block);
    samples.end(s, os::steady_ns());
  }
}

void* reallocate_in_gap(void* block, std::size_t size) noexcept {
  if (!own_hits.gap.reaches(size)) return nullptr;
  using hits = detail::interface_hits<classes_of_misses>;
  void* const after =
      hits::stays(tops(), block, size) ? block : hits::try_move(tops(), block, size);
  if (after != nullptr) own_hits.gap.pass(size);
  return after;
}

void* allocate_zeroed_in_gap(std::size_t size) noexcept {
  // As in a miss: above this size a run that is known to be zero is worth more.
  void* const block = size <= detail::shared_slab_block_max ? hit_in_gap(size) : nullptr;
  return block != nullptr ? std::memset(block, 0, size) : nullptr;
}

void* reallocate_sampling(void* block, std::size_t size, const char* call) noexcept {
  // A small block that is sampled has pages of its own, and another one has not. So it moves if it
  // was sampled, and if it is to be.
  const bool is_sampled = samples.contains(block);
  const bool ends_gap = is_sampling() && size <= small_size_max && !own_hits.gap.has_room_for(size);
  if (is_plain() &&
      (ends_gap || (is_sampled && (size <= small_size_max || the_watch.is_guarded(block) ||
                                   usable_size(block, call) <= small_size_max)))) {
    const std::size_t have = usable_size(block, call);
    return have != 0 ? moved_by_calls(block, have, size, call) : detail::no_block();
  }
  detail::block_sample* sample = nullptr;
  if (const look at; is_sampled) sample = samples.take(block);
  if (sample != nullptr) os::probe_free(block);  // before another thread can have its address
  void* const resized = resize(block, size, call, next_front(front::sampled, block));
  if (const look at; sample != nullptr) {
    if (resized == nullptr || resized == detail::no_block()) {
      tell_tracers(block, sample->size, sample->weight);
      samples.put_back(sample, block);
    } else {
      samples.end(sample, os::steady_ns());
    }
  }
  return resized;
}

void note_resized(const void* block, std::size_t size) noexcept {
  if (size > small_size_max || !is_plain()) {
    if (const std::uint64_t gap = gap_ended_at(size); gap != 0) note(block, size, gap);
  } else if (own_hits.gap.has_room_for(size)) {
    static_cast<void>(gap_ended_at(size));
  }
}

// ---- on and off ---------------------------------------------------------------------------------

int sample(std::uint64_t every) noexcept {
  if (os::heap_is_the_sanitizers()) return ENOTSUP;
  if (every != 0 && (!the_heap.start() || !samples.start())) return ENOMEM;
  if (every != 0) {
    os::note_call_filters();
    os::prepare_to_capture();
  }
  while (the.is_changing.exchange(true, std::memory_order_acquire)) detail::cpu_relax();
  process_classes::divert_hits(every != 0);
  if (every != 0 && the.begun_ns == 0) the.begun_ns = os::steady_ns();
  if (every != 0) the.last_every = every;
  sampled_every.store(every, std::memory_order_release);
  the.is_changing.store(false, std::memory_order_release);
  return 0;
}

int write_samples(const char* path) noexcept {
  if (the.begun_ns == 0) return EINVAL;
  return detail::write_sample_profile(samples, path, the.last_every, the.begun_ns);
}

int write_samples(detail::profile_taker take, void* to) noexcept {
  if (the.begun_ns == 0) return EINVAL;
  return detail::write_sample_profile(samples, take, to, the.last_every, the.begun_ns);
}

bool limit_tags(const char* text) noexcept {
  bool is_right = true;
  constexpr std::size_t part_max = 128;
  for (const char* at = text; *at != '\0'; at += *at == ',' ? 1 : 0) {
    const std::size_t length = std::strcspn(at, ",");
    char part[part_max] = {};
    std::memcpy(part, at, std::min(length, part_max - 1));
    at += length;
    char* const between = std::strrchr(part, '=');
    std::uint64_t bytes = 0;
    const std::string_view name(part,
                                between != nullptr ? static_cast<std::size_t>(between - part) : 0);
    if (length >= part_max || between == nullptr || !parse_bytes(between + 1, bytes) ||
        limit_tag(name, bytes) != 0)
      is_right = false;
  }
  return is_right;
}

void start_sampling(const sampling_settings& s) noexcept {
  if (s.tag_limits != nullptr && !limit_tags(s.tag_limits))
    complain("ASHLAR_TAG_LIMIT", s.tag_limits,
             "NAME=BYTES, such as parser=64M, and a comma before more");
  if (s.every == 0) return;
  if (s.file != nullptr) std::strncpy(the.file, s.file, sizeof the.file - 1);
  the.first_process = os::process_number();
  the.guards = s.guard_one_of != 0 && the_watch.guards->is_on() && is_plain();
  if (sample(s.every) != 0 || the.file[0] == '\0') return;
  if (s.interval_s != 0) {
    the.interval_ns = s.interval_s * 1'000'000'000;
    the.due_ns.store(os::steady_ns() + the.interval_ns);
  }
  if (s.signal != 0) static_cast<void>(os::handle_signal(s.signal, note_signal));
}

void sample_after_fork() noexcept {
  samples.unlock();
  the.is_writing.store(false, std::memory_order_relaxed);
  the.is_changing.store(false, std::memory_order_relaxed);
  own_hits.gap = {};  // or its children would all sample the same
  if (the.begun_ns == 0) return;
  the.begun_ns = os::steady_ns();
  the.written = 0;
  samples.forget_allocations();
}

void end_sampling() noexcept {
  if (the.begun_ns != 0 && the.file[0] != '\0') write_file();
}

}  // namespace ashlar::runtime
