// tools/trace/file_recorder.cpp. Layer: trace.
#include "tools/trace/file_recorder.hpp"

#include <algorithm>
#include <bit>
#include <ctime>
#include <utility>

#include <unistd.h>

#include <ashlar/os/memory_pressure.hpp>

namespace ashlar::trace {
namespace {

// Twice as often as is promised: a recorder that has much to do comes later.
constexpr std::chrono::milliseconds unsealed_each{500};

/// Returns: the power of two that is 16 us or just less.
unsigned coarse_time_bits(std::uint64_t ticks_per_second) {
  constexpr std::uint64_t steps_per_second = 1'000'000 / 16;
  const std::uint64_t ticks = std::max<std::uint64_t>(ticks_per_second / steps_per_second, 1);
  return std::min<unsigned>(static_cast<unsigned>(std::bit_width(ticks)) - 1, time_bits_max);
}

}  // namespace

struct file_recorder::trace {
  std::unique_ptr<trace_writer> writer;
  chunk_definitions definitions;
  std::unordered_map<std::uint32_t, std::uint64_t> last_time;  // by thread; images go on
  bool has_threads = false;                                    // had, or has; images go on
};

file_recorder::file_recorder(const recording_options& options, open_sink open, look_at_exit look)
    : recorder(options.stack_depth, options.memory),
      options_(options),
      open_(std::move(open)),
      look_(std::move(look)),
      time_bits_(coarse_time_bits(ticks_per_second())) {
  if (look_) let_processes_wait();
}

file_recorder::~file_recorder() = default;

void file_recorder::open_trace(const process& of) {
  std::unique_ptr<trace>& t = traces_[of.pid];
  if (t != nullptr) {
    // The stacks of the image before end here; numbers go on, so that those of both have one table.
    t->definitions.stack_base = t->definitions.stack_most;
    event e;
    e.kind = event_kind::image;
    e.thread = 1;
    // What the image before had in memory was seen before this.
    e.time = begin_of(of);
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
  if (of.parent != 0) header.set(header_name::parent, processes()[of.parent - 1]->pid);
  header.set(header_name::page_bytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  header.set(header_name::word_bytes, std::uint64_t{sizeof(void*)});
  header.set(header_name::ticks_per_second, ticks_per_second());
  // A process that runs already may be in another group than this one.
  const std::uint64_t limit =
      options_.attached_to != 0 ? UINT64_MAX : os::memory_group().hard_limit();
  if (limit != UINT64_MAX) header.set(header_name::memory_limit, limit);
  header.set(header_name::started, static_cast<std::uint64_t>(std::time(nullptr)));
  if (!options_.options.empty()) header.set(header_name::options, options_.options);
  if (!options_.recording.empty()) header.set(header_name::recording, options_.recording);
  if (options_.attached_to != 0 && of.pid == options_.attached_to)
    header.set(header_name::attached, std::uint64_t{1});
  t->writer = std::make_unique<trace_writer>(open_(of.pid), header);
}

/// Effects: its trace begins, or goes on with it behind the images before it, also those that told nothing.
void file_recorder::begin(const process& of) {
  if (progress_.size() < processes().size()) progress_.resize(processes().size());
  if (progress_[of.index].begun) return;
  if (of.before != 0) begin(*processes()[of.before - 1]);
  progress_[of.index].begun = true;
  // Of an image that is not recorded, a trace that is there learns that no block lived on.
  if (!is_skipped(of) || traces_.contains(of.pid)) open_trace(of);
}

void file_recorder::flush_definitions(trace& of, bool all) {
  chunk_definitions& of_chunks = of.definitions;
  if (!all &&
      std::max(of_chunks.stacks.size(), of_chunks.mappings.size()) < trace_writer::definitions_each)
    return;
  of.writer->add(of_chunks.stacks);
  of.writer->add(of_chunks.modules);
  of.writer->add(of_chunks.mappings);
  of_chunks.stacks.clear();
  of_chunks.modules.clear();
  of_chunks.mappings.clear();
}

/// Effects: writes what was seen of processes whose traces have begun.
void file_recorder::flush_memory(bool is_end) {
  for (std::size_t i = 0; i < progress_.size(); ++i)
    if (progress_[i].begun)
      if (const auto to = traces_.find(processes()[i]->pid); to != traces_.end())
        to->second->writer->add(progress_[i].memory.take(is_end));
}

/// Effects: looks at the processes that run, each now and then. The more they are, the more seldom.
void file_recorder::look_at_memory() {
  constexpr std::chrono::milliseconds each{5};
  constexpr std::size_t most = 4;  // in that time
  const auto time = std::chrono::steady_clock::now();
  if (time < look_due_) return;
  if (progress_.size() < processes().size()) progress_.resize(processes().size());
  std::size_t looked_at = 0;
  std::uint64_t resident = 0;
  std::vector<std::uint32_t> seen;
  for (const auto& p : processes()) {
    progress& so_far = progress_[p->index];
    if (p->ended || was_replaced(*p) || so_far.is_over || !is_described(*p) || is_skipped(*p))
      continue;
    const std::uint64_t its = so_far.memory.look(p->pid, [this] { return now(); }, memory_seen(*p));
    resident += its;
    if (its != 0) seen.push_back(p->pid);
    ++looked_at;
  }
  if (looks_at_tree_ && !seen.empty()) tree_.look(seen, resident, now());
  look_due_ = time + each * (looked_at / most + 1);
}

void file_recorder::read_records(const process& of, const chunk& c, thread_progress& so_far) {
  trace& to = *traces_[of.pid];
  const std::uint32_t thread = c.header.thread;
  std::uint64_t& last_time = to.last_time[thread];
  if (!so_far.events) so_far.events.emplace(start_ticks(), to.definitions);
  if (!so_far.is_open) so_far.events->begin(c);
  so_far.is_open = true;
  so_far.events->not_before(last_time);
  // Whether there are threads is asked behind what is read: no other thread's events come between
  // these.
  const std::uint32_t records = c.header.used.load(std::memory_order_acquire);
  to.has_threads = to.has_threads || !has_one_thread(of);
  to.writer->keep_times_within(to.has_threads ? 0 : time_bits_);
  for (event e; so_far.events->next(e, records);) to.writer->add(e);
  for (memory_look& look : std::exchange(to.definitions.looks, {}))
    progress_[of.index].memory.add(std::move(look));
  last_time = so_far.events->time();
  to.writer->flush(thread);
  flush_definitions(to, false);
}

/// Effects: takes the chunk's records; of one that is still written those that are there, and the rest another time.
/// Returns: false when something that comes before it is not there yet.
bool file_recorder::take(std::uint32_t index, chunk_is as) {
  const chunk& c = chunk_at(index);
  process* const of = owner_of(index);
  if (of == nullptr) return false;
  if (c.header.thread == 0) {
    describe(*of, c);
    return true;
  }
  if (!is_described(*of) && !finished_) return false;
  if (progress_.size() < processes().size()) progress_.resize(processes().size());
  if (progress_[of->index].is_over) return true;
  if (c.header.sequence != progress_[of->index].threads[c.header.thread].chunk) return false;
  if (!progress_[of->index].begun) {
    if (of->before != 0) take_abandoned(of->index);  // what the image before has left comes before
    begin(*of);
  }
  thread_progress& so_far = progress_[of->index].threads[c.header.thread];
  read_records(*of, c, so_far);
  if (as == chunk_is::whole) {
    ++so_far.chunk;
    so_far.is_open = false;
  }
  return true;
}

void file_recorder::take_unsealed() {
  std::vector<std::uint32_t> unsealed;
  const std::uint32_t count = chunks();
  for (std::uint32_t i = 0; i < count; ++i) {
    const process* const owner = owner_of(i);
    if (state_of(i) == chunk_state::taken && owner != nullptr && chunk_at(i).header.thread != 0)
      unsealed.push_back(i);
  }
  sort(unsealed);
  for (const std::uint32_t index : unsealed) take(index, chunk_is::written);
  for (const auto& [pid, t] : traces_) flush_definitions(*t, true);
  flush_memory(false);
}

std::size_t file_recorder::take_sealed() {
  std::vector<std::uint32_t> sealed;
  const std::uint32_t count = chunks();
  for (std::uint32_t i = 0; i < count; ++i)
    if (state_of(i) == chunk_state::sealed) sealed.push_back(i);
  sort(sealed);
  std::size_t taken = 0;
  for (const std::uint32_t index : sealed) {
    // An earlier one may have made take_abandoned() fetch it.
    if (state_of(index) != chunk_state::sealed || !take(index)) continue;
    ++taken;
    free(index);
    beat();
  }
  return taken;
}

/// Effects: takes what processes and threads that have ended left, of processes that are below `end`.
void file_recorder::take_abandoned(std::uint32_t end) {
  look_for_the_dead();
  const auto is_abandoned = [&](std::uint32_t index) {
    const process* const owner = owner_of(index);
    return owner != nullptr && owner->index < end && (owner->ended || finished_ || is_left(index));
  };
  std::vector<std::uint32_t> abandoned;
  const std::uint32_t count = chunks();
  for (std::uint32_t i = 0; i < count; ++i)
    if (state_of(i) != chunk_state::free && is_abandoned(i)) abandoned.push_back(i);
  sort(abandoned);
  for (const std::uint32_t index : abandoned) {
    // An earlier one may have fetched it, and it may be somebody's again.
    if (is_abandoned(index) && take(index) && !finished_)
      free(index);  // in the end, one that still runs may be writing there
  }
}

/// Effects: takes all that the process has told. Its chunks stay its own until it has ended: another
/// thread may be writing there.
void file_recorder::take_all_of(const process& of) {
  std::vector<std::uint32_t> its;
  const std::uint32_t count = chunks();
  for (std::uint32_t i = 0; i < count; ++i)
    if (state_of(i) != chunk_state::free && owner_of(i) == &of) its.push_back(i);
  sort(its);
  for (const std::uint32_t index : its) take(index);
  begin(of);
  flush_definitions(*traces_[of.pid], true);
  memory_looks last;  // with mappings, however soon it comes behind another one
  last.look(of.pid, [this] { return now(); }, memory_seen(of));
  for (memory_look& look : last.take(true)) progress_[of.index].memory.add(std::move(look));
  progress_[of.index].is_over = true;
}

void file_recorder::look_at_exits() {
  if (!look_) return;
  for (const auto& p : processes()) {
    if (!waits_at_exit(*p)) continue;
    take_all_of(*p);
    traces_[p->pid]->writer->add(look_({p->pid, stack_at_exit(*p)}, [this] { beat(); }));
    go_on(*p);
  }
}

std::size_t file_recorder::drain() {
  beat();
  learn_processes();
  const std::size_t taken = take_sealed();
  if (!finished_) look_at_memory();
  look_at_exits();
  if (is_time_to_look_for_the_dead() || finished_) take_abandoned(UINT32_MAX);
  const auto time = std::chrono::steady_clock::now();
  if (!finished_ && time >= unsealed_due_) {
    take_unsealed();
    unsealed_due_ = time + unsealed_each;
  }
  return taken;
}

void file_recorder::add_lost(const process& of) {
  const std::uint32_t lost = lost_by(of);
  const auto found = traces_.find(of.pid);
  if (lost == 0 || found == traces_.end()) return;
  event e;
  e.kind = event_kind::lost;
  e.thread = 1;
  e.time = found->second->last_time[1];
  e.size = lost;
  found->second->writer->add(e);
}

void file_recorder::finish() {
  stop();
  drain();
  finished_ = true;
  while (drain() != 0) {
  }
  // No block lives across exec, though what was executed told nothing.
  for (const auto& p : processes())
    if (p->pid == program() || traces_.contains(p->pid)) begin(*p);
  for (const auto& p : processes()) add_lost(*p);
  flush_memory(true);
  for (const auto& [pid, t] : traces_) {
    flush_definitions(*t, true);
    t->writer->close();
  }
}

std::vector<file_recorder::process_result> file_recorder::results() const {
  std::vector<process_result> all;
  all.reserve(traces_.size());
  for (const auto& [pid, t] : traces_) all.push_back({pid, t->writer->events()});
  std::ranges::sort(all, [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return all;
}

}  // namespace ashlar::trace
