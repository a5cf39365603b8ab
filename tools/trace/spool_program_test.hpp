// tools/trace/spool_program_test.hpp: a program's side of a spool, one step after the other, for the tests of recorders. What
// libashlar-record.so does by itself.
#pragma once

#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "tools/trace/recorder.hpp"

namespace ashlar::trace::test {

class spool_program {
 public:
  explicit spool_program(const recorder& of) {
    const int file = ::open(of.spool_path().c_str(), O_RDWR | O_CLOEXEC);
    void* const memory =
        ::mmap(nullptr, spool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) throw std::runtime_error("no spool");
    spool_ = static_cast<spool*>(memory);
  }
  ~spool_program() { ::munmap(spool_, spool_bytes); }
  spool_program(const spool_program&) = delete;
  spool_program& operator=(const spool_program&) = delete;

  /// Returns: its index. A process of the same number has executed another program.
  std::uint32_t begin_process(std::uint32_t pid) {
    const std::uint32_t index = spool_->processes_count.load();
    spool_->processes[index].pid = pid;
    spool_->processes_count.store(index + 1);
    return index;
  }
  void lose(std::uint32_t process, std::uint32_t events) {
    spool_->processes[process].lost.store(events);
  }

  void wait_at_exit(std::uint32_t process, std::uint64_t stack) {
    spool_->processes[process].stack_at_end.store(stack);
    spool_->processes[process].end.store(process_end::waits);
  }
  [[nodiscard]] bool goes_on(std::uint32_t process) const {
    return spool_->processes[process].end.load() == process_end::goes_on;
  }

  /// Effects: the thread's next chunk is this one.
  void take_chunk(std::uint32_t index, std::uint32_t process, std::uint32_t thread,
                  std::uint32_t sequence, std::uint32_t system_thread = 0) {
    spool_->states[index].store(chunk_state::taken);
    if (spool_->chunks.load() <= index) spool_->chunks.store(index + 1);
    chunk_header& header = chunk_of(spool_, index)->header;
    header.thread = thread;
    header.sequence = sequence;
    header.ticks = spool_->start_ticks;
    header.used.store(0);
    header.system_thread = system_thread;
    std::atomic<std::uint32_t>& threads = spool_->processes[process].threads;
    threads.store(std::max(threads.load(), thread));
    header.owner.store(process + 1);
  }
  /// Effects: a description of the process, in a chunk of its own.
  void describe(std::uint32_t index, std::uint32_t process, std::string_view text) {
    take_chunk(index, process, 0, 0);
    chunk* const c = chunk_of(spool_, index);
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(c->records));
    c->header.used.store(static_cast<std::uint32_t>(text.size()));
    seal(index);
  }
  void seal(std::uint32_t index) {
    spool_->sealed.fetch_add(1);
    spool_->states[index].store(chunk_state::sealed);
  }
  void put(std::uint32_t index, event_kind kind, std::uint64_t time, std::uint64_t address,
           std::uint32_t size = 0) {
    put(index, {static_cast<std::uint64_t>(kind) << 56 | address,
                static_cast<std::uint32_t>(spool_->start_ticks + time), size});
  }
  /// Effects: what is said of the next event.
  void put(std::uint32_t index, spool_kind kind, std::uint64_t value, std::uint32_t number = 0) {
    put(index, {static_cast<std::uint64_t>(kind) << 56 | value, 0, number});
  }
  /// The time of an event that happens now.
  [[nodiscard]] std::uint64_t now() const {
#if defined(__x86_64__)
    if (spool_->clock == spool_clock::processor)
      return (__rdtsc() >> tick_shift) - spool_->start_ticks;
#endif
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    const auto ns = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                    static_cast<std::uint64_t>(time.tv_nsec);
    return (ns >> tick_shift) - spool_->start_ticks;
  }
  [[nodiscard]] chunk_state state(std::uint32_t index) const {
    return spool_->states[index].load();
  }
  [[nodiscard]] std::uint32_t sealed() const { return spool_->sealed.load(); }

 private:
  void put(std::uint32_t index, const spool_record& record) {
    chunk* const c = chunk_of(spool_, index);
    const std::uint32_t used = c->header.used.load();
    c->records[used] = record;
    c->header.used.store(used + 1);
  }

  spool* spool_ = nullptr;
};

/// Returns: the number of a process that has ended.
inline std::uint32_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return static_cast<std::uint32_t>(child);
}

}  // namespace ashlar::trace::test
