// tools/trace/recorder.cpp. Layer: trace.
#include "tools/trace/recorder.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <tuple>

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ashlar::trace {
namespace {

constexpr std::size_t definitions_each = 4096;

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
  std::uint64_t raw = 0;
  std::uint64_t ns = 0;
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

/// One image of a process: what it entered into the spool.
struct recorder::process {
  std::uint32_t index = 0;
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;  // index + 1
  std::string path;
  std::string arguments;
  bool was_executed = false;  // there is an image before it
  bool described = false;
  bool ended = false;
  bool announced = false;                                       // its trace knows of it
  std::unordered_map<std::uint32_t, std::uint32_t> next_chunk;  // by thread
};

struct recorder::trace {
  std::unique_ptr<trace_writer> writer;
  std::vector<stack_definition> stacks;
  std::vector<module_definition> modules;
  std::unordered_map<std::uint32_t, std::uint64_t> last_time;  // by thread; images go on
  std::uint32_t stack_base = 0;  // stacks of this image are numbered from there
  std::uint32_t stack_most = 0;
};

recorder::recorder(const recording_options& options, open_sink open)
    : options_(options), open_(std::move(open)) {
  file_ = ::memfd_create("ashlar-record", MFD_CLOEXEC);
  if (file_ < 0) refuse("no memory for recording");
  if (::ftruncate(file_, static_cast<off_t>(spool_bytes)) != 0) refuse("no memory for recording");
  void* const memory =
      ::mmap(nullptr, spool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) refuse("no address space for recording");
  spool_ = static_cast<spool*>(memory);
  path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
  const spool_clock clock = choose_clock();
  ticks_per_second_ = measure_ticks_per_second(clock);
  spool_->clock = clock;
  spool_->stack_depth = options.stack_depth;
  spool_->start_ticks = raw_clock(clock) >> tick_shift;
  spool_->magic = spool::magic_value;
}

recorder::~recorder() {
  if (spool_ != nullptr) {
    spool_->stop.store(1);
    ::munmap(spool_, spool_bytes);
  }
  if (file_ >= 0) ::close(file_);
}

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
    added->was_executed = latest_.contains(pid);
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
  if (latest_.at(p.pid) != p.index) return true;  // it executed the later one
  return ::kill(static_cast<pid_t>(p.pid), 0) != 0 && errno == ESRCH;
}

void recorder::open_trace(process& of) {
  of.announced = true;
  std::unique_ptr<trace>& t = traces_[of.pid];
  if (t != nullptr) {
    // The stacks of the image before end here; numbers go on, so that those of both have one table.
    t->stack_base = t->stack_most;
    event e;
    e.kind = event_kind::image;
    e.thread = 1;
    for (const auto& [thread, time] : t->last_time) e.time = std::max(e.time, time);
    for (auto& [thread, time] : t->last_time) time = e.time;
    t->last_time[1] = e.time;
    e.text = of.arguments;
    t->writer->add(e);
    t->writer->flush(1);
    return;
  }
  t = std::make_unique<trace>();
  trace_header header;
  header.set(header_name::ashlar, options_.ashlar_version);
  header.set(header_name::program, of.path);
  header.set(header_name::arguments, of.arguments);
  header.set(header_name::pid, of.pid);
  if (of.parent != 0) header.set(header_name::parent, processes_[of.parent - 1]->pid);
  header.set(header_name::page_bytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  header.set(header_name::word_bytes, std::uint64_t{sizeof(void*)});
  header.set(header_name::ticks_per_second, ticks_per_second_);
  header.set(header_name::started, static_cast<std::uint64_t>(::time(nullptr)));
  if (!options_.options.empty()) header.set(header_name::options, options_.options);
  t->writer = std::make_unique<trace_writer>(open_(of.pid), header);
}

// ---- chunks ---------------------------------------------------------------------------------------

void recorder::flush_definitions(trace& of, bool all) {
  if (!all && of.stacks.size() < definitions_each) return;
  of.writer->add(of.stacks);
  of.writer->add(of.modules);
  of.stacks.clear();
  of.modules.clear();
}

void recorder::read_records(process& of, const chunk& c, std::uint32_t used) {
  trace& to = *traces_[of.pid];
  const std::uint32_t thread = c.header.thread;
  std::uint64_t& last_time = to.last_time[thread];
  std::uint64_t ticks = c.header.ticks;
  event e;
  e.thread = thread;
  std::uint64_t full_size = 0;
  for (std::uint32_t i = 0; i < used; ++i) {
    const spool_record& r = c.records[i];
    const auto kind = static_cast<std::uint8_t>(r.what >> 56);
    const std::uint64_t value = r.what & (~std::uint64_t{0} >> 8);
    if (kind < static_cast<std::uint8_t>(spool_kind::time)) {
      e.kind = static_cast<event_kind>(kind);
      const std::uint32_t ahead = r.ticks - static_cast<std::uint32_t>(ticks);
      if (ahead < 1u << 31) ticks += ahead;  // a clock that went back stands still
      last_time = e.time = std::max(last_time, ticks - std::min(ticks, spool_->start_ticks));
      e.address = is_other(e.kind) ? 0 : value;
      e.size = full_size != 0 ? full_size : r.number;
      if (is_birth(e.kind) || is_death(e.kind) || is_other(e.kind)) to.writer->add(e);
      e = event{};
      e.thread = thread;
      full_size = 0;
      continue;
    }
    const auto bytes_at = reinterpret_cast<const char*>(&c.records[i] + 1);
    const std::uint32_t room = (used - i - 1) * static_cast<std::uint32_t>(sizeof(spool_record));
    const std::uint32_t bytes = std::min(r.number, room);
    switch (static_cast<spool_kind>(kind)) {
      case spool_kind::time:
        ticks = std::max(ticks, value);
        break;
      case spool_kind::size:
        full_size = value;
        break;
      case spool_kind::alignment:
        e.alignment = std::bit_ceil(value);  // memalign takes others, and means this
        break;
      case spool_kind::stack:
        e.stack = to.stack_base + r.number;
        break;
      case spool_kind::text:
        e.text = std::string_view(bytes_at, bytes);
        i += records_for(bytes);
        break;
      case spool_kind::define_stack: {
        stack_definition& stack = to.stacks.emplace_back();
        stack.number = to.stack_base + static_cast<std::uint32_t>(value);
        to.stack_most = std::max(to.stack_most, stack.number);
        stack.frames.resize(bytes / 8);
        std::memcpy(stack.frames.data(), bytes_at, stack.frames.size() * 8);
        i += records_for(bytes);
        break;
      }
      case spool_kind::define_module: {
        i += records_for(bytes);
        if (bytes < 24) break;
        module_definition& module = to.modules.emplace_back();
        std::memcpy(&module.begin, bytes_at, 8);
        std::memcpy(&module.end, bytes_at + 8, 8);
        std::memcpy(&module.bias, bytes_at + 16, 8);
        module.path.assign(bytes_at + 24, bytes - 24);
        break;
      }
    }
  }
  to.writer->flush(thread);
  flush_definitions(to, false);
}

/// Returns: false when something that comes before it is not there yet.
bool recorder::take(std::uint32_t index) {
  const chunk& c = *chunk_of(spool_, index);
  const std::uint32_t used = c.header.used.load(std::memory_order_acquire);
  if (c.header.process >= processes_.size()) return false;
  process& of = *processes_[c.header.process];
  if (c.header.thread == 0) {
    describe(of, c);
    return true;
  }
  if (!is_described(of) && !finished_) return false;
  std::uint32_t& next = of.next_chunk[c.header.thread];
  if (c.header.sequence != next) return false;
  ++next;
  if (!of.announced) {
    if (of.was_executed) take_abandoned();  // what the image before has left comes before
    open_trace(of);
  }
  read_records(of, c, std::min(used, chunk::records_max));
  return true;
}

// By process, thread and number. The description of a process has thread 0.
void recorder::sort(std::vector<std::uint32_t>& indices) const {
  const auto key = [this](std::uint32_t i) {
    const chunk_header& h = chunk_of(spool_, i)->header;
    return std::tuple(h.process, h.thread, h.sequence);
  };
  std::sort(indices.begin(), indices.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
}

/// Effects: a chunk that was read can be used again. Until its next owner has entered itself, it is nobody's.
void recorder::free(std::uint32_t index) {
  chunk_header& header = chunk_of(spool_, index)->header;
  header.process = UINT32_MAX;
  header.used.store(0, std::memory_order_relaxed);
  if (spool_->states[index].exchange(chunk_state::free, std::memory_order_acq_rel) ==
      chunk_state::sealed)
    spool_->sealed.fetch_sub(1, std::memory_order_release);
}

std::size_t recorder::take_sealed() {
  std::vector<std::uint32_t> sealed;
  const std::uint32_t count = spool_->chunks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i)
    if (spool_->states[i].load(std::memory_order_acquire) == chunk_state::sealed)
      sealed.push_back(i);
  sort(sealed);
  std::size_t taken = 0;
  for (const std::uint32_t index : sealed) {
    // An earlier one may have made take_abandoned() fetch it.
    if (spool_->states[index].load(std::memory_order_acquire) != chunk_state::sealed ||
        !take(index))
      continue;
    ++taken;
    free(index);
    spool_->heartbeat.fetch_add(1, std::memory_order_relaxed);
  }
  return taken;
}

void recorder::take_abandoned() {
  for (const auto& p : processes_) p->ended = p->ended || finished_ || is_gone(*p);
  std::vector<std::uint32_t> abandoned;
  const std::uint32_t count = spool_->chunks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (spool_->states[i].load(std::memory_order_acquire) == chunk_state::free) continue;
    const std::uint32_t owner = chunk_of(spool_, i)->header.process;
    if (owner < processes_.size() && processes_[owner]->ended) abandoned.push_back(i);
  }
  sort(abandoned);
  for (const std::uint32_t index : abandoned)
    if (take(index) && !finished_)
      free(index);  // in the end, one that still runs may be writing there
}

std::size_t recorder::drain() {
  constexpr std::uint64_t look_for_the_dead_each = 64;
  spool_->heartbeat.fetch_add(1, std::memory_order_relaxed);
  learn_processes();
  const std::size_t taken = take_sealed();
  if (finished_ || ++drains_ % look_for_the_dead_each == 0) take_abandoned();
  return taken;
}

void recorder::add_lost(const process& of) {
  const std::uint32_t lost = spool_->processes[of.index].lost.load();
  const auto found = traces_.find(of.pid);
  if (lost == 0 || found == traces_.end()) return;
  event e;
  e.kind = event_kind::lost;
  e.thread = 1;
  e.time = found->second->last_time[1];
  e.size = lost;
  found->second->writer->add(e);
}

void recorder::finish() {
  spool_->stop.store(1);
  drain();
  finished_ = true;
  while (drain() != 0) {
  }
  for (const auto& p : processes_) add_lost(*p);
  for (const auto& [pid, t] : traces_) {
    flush_definitions(*t, true);
    t->writer->close();
  }
}

std::vector<recorder::process_result> recorder::results() const {
  std::vector<process_result> all;
  all.reserve(traces_.size());
  for (const auto& [pid, t] : traces_) all.push_back({pid, t->writer->events()});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return all;
}

}  // namespace ashlar::trace
