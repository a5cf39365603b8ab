// tools/trace/recorder.cpp. Layer: trace.
#include "tools/trace/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <tuple>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ashlar::trace {
namespace {

std::uint64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The system uses the processor's counter itself where it is the same for all processors and never stops.
spool_clock choose_clock() {
#if defined(__x86_64__)
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  if (file >> source && source == "tsc") return spool_clock::processor;
#endif
  return spool_clock::monotonic;
}

std::uint64_t raw_clock(spool_clock clock) {
#if defined(__x86_64__)
  if (clock == spool_clock::processor) return __rdtsc();
#endif
  static_cast<void>(clock);
  return monotonic_ns();
}

struct moment {
  std::uint64_t raw = 0, ns = 0;
};
// Of some tries the one that was interrupted least.
moment moment_of(spool_clock clock) {
  moment best;
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = monotonic_ns();
    const std::uint64_t raw = raw_clock(clock);
    const std::uint64_t after = monotonic_ns();
    if (after - before >= least) continue;
    least = after - before;
    best = {raw, before + (after - before) / 2};
  }
  return best;
}

std::uint64_t measure_ticks_per_second(spool_clock clock) {
  if (clock == spool_clock::monotonic) return 1'000'000'000 >> tick_shift;
  const moment first = moment_of(clock);
  const timespec pause{0, 20'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  const moment second = moment_of(clock);
  const double rate =
      static_cast<double>(second.raw - first.raw) / static_cast<double>(second.ns - first.ns);
  return static_cast<std::uint64_t>(std::llround(rate * 1e9 / (1u << tick_shift)));
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

recorder::recorder(std::uint32_t stack_depth, int memory) : is_given_(memory >= 0) {
  file_ = is_given_ ? ::fcntl(memory, F_DUPFD_CLOEXEC, 0)
                    : ::memfd_create("ashlar-record", MFD_CLOEXEC);
  if (file_ < 0) refuse("no memory for recording");
  if (::ftruncate(file_, static_cast<off_t>(spool_bytes)) != 0) {
    refuse(errno == EFBIG ? "no memory for recording: files are limited to less than " +
                                std::to_string(spool_bytes >> 20) + " MiB (ulimit -f)"
                          : "no memory for recording");
  }
  void* const mapped =
      ::mmap(nullptr, spool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapped == MAP_FAILED) refuse("no address space for recording");
  spool_ = static_cast<spool*>(mapped);
  path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
  const spool_clock clock = choose_clock();
  ticks_per_second_ = measure_ticks_per_second(clock);
  spool_->clock = clock;
  spool_->stack_depth = stack_depth;
  spool_->start_ticks = raw_clock(clock) >> tick_shift;
  __atomic_store_n(&spool_->magic, spool::magic_value, __ATOMIC_RELEASE);  // last: it is whole
}

recorder::~recorder() {
  if (spool_ != nullptr) {
    spool_->stop.store(1);
    // The process never unmaps it: a thread may be about to write there.
    if (is_given_)
      ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(chunks_at),
                  static_cast<off_t>(spool_bytes - chunks_at));
    ::munmap(spool_, spool_bytes);
  }
  if (file_ >= 0) ::close(file_);
}

std::uint64_t recorder::since_start(std::uint64_t ticks) const {
  return ticks - std::min(ticks, spool_->start_ticks);
}

std::uint64_t recorder::now() const { return since_start(raw_clock(spool_->clock) >> tick_shift); }

// ---- processes ------------------------------------------------------------------------------------

void recorder::learn_processes() {
  const std::uint32_t count =
      std::min(spool_->processes_count.load(std::memory_order_acquire), processes_max);
  while (processes_.size() < count) {
    const auto index = static_cast<std::uint32_t>(processes_.size());
    const spool_process& entry = spool_->processes[index];
    const std::uint32_t pid = __atomic_load_n(&entry.pid, __ATOMIC_ACQUIRE);
    if (pid == 0) return;  // it is just being entered
    auto added = std::make_unique<process>();
    added->pid = pid;
    added->parent = std::min(entry.parent, index);
    added->index = index;
    const auto known = latest_.find(pid);
    added->before = known == latest_.end() ? 0 : known->second + 1;
    latest_[pid] = index;
    processes_.push_back(std::move(added));
  }
}

void recorder::describe(process& of, const chunk& c) {
  const std::uint32_t used =
      std::min<std::uint32_t>(c.header.used.load(std::memory_order_acquire), sizeof c.records);
  const std::string text(reinterpret_cast<const char*>(c.records), used);
  const std::size_t end = std::min(text.find('\0'), text.size());
  of.path = text.substr(0, end);
  of.arguments = end < text.size() ? text.substr(end + 1) : std::string();
  of.described = true;
}

/// A forked process is what its parent was.
bool recorder::is_described(process& p) {
  if (p.described || p.parent == 0) return p.described;
  process& parent = *processes_[p.parent - 1];
  if (!is_described(parent)) return false;
  p.path = parent.path;
  p.arguments = parent.arguments;
  return p.described = true;
}

bool recorder::is_gone(const process& p) const {
  if (was_replaced(p)) return true;
  return ::kill(static_cast<pid_t>(p.pid), 0) != 0 && errno == ESRCH;
}

bool recorder::is_time_to_look_for_the_dead() {
  constexpr std::uint64_t calls_between = 64;
  constexpr std::uint32_t chunks_between = 256;
  const std::uint32_t count = chunks();
  std::uint32_t in_use = 0;
  for (std::uint32_t i = 0; i < count; ++i) in_use += state_of(i) != chunk_state::free;
  fewest_in_use_ = std::min(fewest_in_use_, in_use);
  if (++calls_ % calls_between != 0 && in_use < fewest_in_use_ + chunks_between) return false;
  fewest_in_use_ = in_use;
  return true;
}

void recorder::look_for_the_dead() {
  for (const auto& p : processes_) {
    if (p->ended || !is_gone(*p)) continue;
    p->ended = true;
    p->ended_at = now();
  }
}

void recorder::record_only(const std::vector<std::string>& names) {
  char* to = spool_->only;
  for (const std::string& name : names) to = std::copy(name.begin(), name.end(), to) + 1;
}

std::uint64_t recorder::begin_of(const process& of) const {
  return since_start(spool_->processes[of.index].begin_ticks);
}

std::vector<process_history> recorder::histories() {
  std::vector<process_history> all;
  std::unordered_map<std::uint32_t, std::size_t> places;  // by pid
  for (const auto& p : processes_) {
    static_cast<void>(is_described(*p));
    const spool_process& entry = spool_->processes[p->index];
    const auto [place, is_new] = places.try_emplace(p->pid, all.size());
    if (is_new) {
      process_history& begun = all.emplace_back();
      begun.pid = p->pid;
      // The system's parent is another one where that had ended, and the child is its heir's.
      const bool is_known = entry.system_parent != p->pid && latest_.contains(entry.system_parent);
      begun.parent =
          is_known || p->parent == 0 ? entry.system_parent : processes_[p->parent - 1]->pid;
      begun.begin = begin_of(*p);
    }
    process_history& history = all[place->second];
    history.images.push_back({p->path, p->arguments});
    history.is_recorded = history.is_recorded || !is_skipped(*p);
    const std::uint64_t exit_ticks = entry.exit_ticks.load(std::memory_order_acquire);
    history.end.reset();
    history.exit_status.reset();
    if (exit_ticks != 0) {
      history.end = since_start(exit_ticks);
      history.exit_status = entry.exit_status.load(std::memory_order_relaxed);
    } else if (p->ended && !was_replaced(*p)) {
      history.end = p->ended_at;
    }
  }
  return all;
}

// ---- chunks ---------------------------------------------------------------------------------------

recorder::process* recorder::owner_of(std::uint32_t index) {
  const std::uint32_t owner = chunk_at(index).header.owner.load(std::memory_order_acquire);
  return owner == 0 || owner > processes_.size() ? nullptr : processes_[owner - 1].get();
}

void recorder::sort(std::vector<std::uint32_t>& indices) const {
  const auto key = [this](std::uint32_t i) {
    const chunk_header& h = chunk_at(i).header;
    return std::tuple(h.owner.load(std::memory_order_relaxed), h.thread, h.sequence);
  };
  std::ranges::sort(indices, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
}

bool recorder::is_left(std::uint32_t index) {
  const auto process_number = static_cast<pid_t>(owner_of(index)->pid);
  const auto thread_number = static_cast<pid_t>(chunk_at(index).header.system_thread);
  return thread_number != 0 && ::syscall(SYS_tgkill, process_number, thread_number, 0) != 0 &&
         errno == ESRCH;
}

void recorder::free(std::uint32_t index) {
  chunk_header& header = chunk_of(spool_, index)->header;
  header.owner.store(0, std::memory_order_relaxed);
  if (spool_->states[index].exchange(chunk_state::free, std::memory_order_acq_rel) ==
      chunk_state::sealed)
    spool_->sealed.fetch_sub(1, std::memory_order_release);
}

}  // namespace ashlar::trace
