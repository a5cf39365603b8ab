// tools/image/stopped_process.cpp. Layer: image.
#include "tools/image/stopped_process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/files/process_status.hpp"
#include "tools/image/interrupted_wait.hpp"
#include "tools/image/process_status.hpp"
#include "tools/trace/process_memory.hpp"

namespace ashlar::image {
namespace {

using files::status_of;
using trace::address_range;

/// All threads of a process, which stand still while this lives. If the command is killed, the
/// system lets them go on, as it does for every tracer.
class stopped_threads {
 public:
  explicit stopped_threads(pid_t pid) : pid_(pid) {
    // Threads may start while others are stopped, until a round finds no new one.
    for (bool is_new = true; is_new;) {
      is_new = false;
      std::vector<pid_t> round;
      for (const pid_t thread : threads_of(pid)) {
        if (stopped_.contains(thread)) continue;
        waits_[thread] = timed_wait_of(thread);
        if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
          if (errno == ESRCH && thread != pid) continue;  // it has ended
          refuse(pid, errno, "ptrace");
        }
        stopped_[thread] = running;
        ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        round.push_back(thread);
      }
      for (const pid_t thread : round) is_new = await(thread) || is_new;
    }
    if (std::ranges::none_of(stopped_, [](const auto& each) { return each.second >= 0; }))
      fail_gone(pid);
  }
  ~stopped_threads() {
    for (const auto& [thread, signal] : stopped_) {
      if (signal == 0) begin_wait_again(thread, waits_[thread]);
      if (signal >= 0) ::ptrace(PTRACE_DETACH, thread, nullptr, signal);
    }
  }
  stopped_threads(const stopped_threads&) = delete;
  stopped_threads& operator=(const stopped_threads&) = delete;

  void add_to(memory_image& image) const {
    for (const auto& [thread, signal] : stopped_) {
      if (signal < 0) continue;
      thread_state state;
      state.id = static_cast<std::uint32_t>(thread);
      state.registers = registers_of(thread, NT_PRSTATUS);
      state.stack_pointer = stack_pointer_in(state.registers);
      const std::vector<std::uint64_t> more = registers_of(thread, NT_FPREGSET);
      state.registers.insert(state.registers.end(), more.begin(), more.end());
      image.add_thread(std::move(state));
    }
  }

 private:
  static constexpr int running = -1;
  static constexpr int ended = -2;
  static constexpr int patience_ms = 5000;

  /// Effects: waits until the thread stands still. Returns: false where it has ended.
  bool await(pid_t thread) {
    for (int waited = 0;; ++waited) {
      int status = 0;
      const pid_t got = ::waitpid(thread, &status, __WALL | WNOHANG);
      if (got == thread && WIFSTOPPED(status)) {
        // A signal on its way is given back when the thread goes on.
        const bool is_own = (status >> 16) == PTRACE_EVENT_STOP;
        stopped_[thread] = is_own ? 0 : WSTOPSIG(status);
        if (waits_[thread] && !is_still_in(*waits_[thread], thread)) waits_[thread].reset();
        return true;
      }
      if (got == thread || (got < 0 && errno != EINTR)) {
        stopped_[thread] = ended;
        return false;
      }
      if (waited >= patience_ms * 10)
        fail(fmt::format(
            "thread {} of process {} waits in the system and cannot be stopped: try again "
            "when it goes on",
            thread, pid_));
      ::usleep(100);
    }
  }

  static std::vector<std::uint64_t> registers_of(pid_t thread, int kind) {
    std::vector<std::uint64_t> words(512);
    iovec place{words.data(), words.size() * sizeof words[0]};
    if (::ptrace(PTRACE_GETREGSET, thread, kind, &place) != 0) return {};
    words.resize(place.iov_len / sizeof words[0]);
    return words;
  }

  pid_t pid_;
  std::map<pid_t, std::optional<timed_wait>> waits_;
  std::map<pid_t, int> stopped_;  // the signal that each gets when it goes on; or running, ended
};

/// Returns: whether all threads stand still for a debugger.
bool is_held(pid_t pid) {
  const std::vector<pid_t> threads = threads_of(pid);
  return !threads.empty() && std::ranges::all_of(threads, [](pid_t thread) {
    return status_of(thread, "State").starts_with('t');
  });
}
void add_held_threads(pid_t pid, memory_image& image) {
  for (const pid_t thread : threads_of(pid)) {
    // "NUMBER ARGUMENTS... SP PC"
    std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid, thread));
    std::vector<std::string> words;
    for (std::string word; file >> word;) words.push_back(word);
    thread_state state;
    state.id = static_cast<std::uint32_t>(thread);
    if (words.size() >= 3)
      state.stack_pointer = std::strtoull(words[words.size() - 2].c_str(), nullptr, 16);
    image.add_thread(std::move(state));
  }
}

/// Effects: adds them, with what the system counts in each.
void add_mappings(pid_t pid, memory_image& image) {
  const auto all = trace::mappings_of(pid, trace::mapping_detail::counts);
  if (!all) refuse(pid, errno, "its mappings");
  memory_counts counts;
  for (const trace::process_mapping& each : *all) {
    mapping m;
    m.begin = each.begin;
    m.end = each.end;
    m.offset = each.offset;
    const bool is_private = each.rights.ends_with('p');
    const bool is_closed = !each.rights.starts_with('r');
    m.writable = each.rights[1] == 'w' && is_private;
    m.is_closed = is_closed;
    if (each.path.starts_with('/')) m.path = each.path;
    m.rest_is_zero = m.path.empty() && is_private && !is_closed && !each.path.starts_with("[v");
    m.resident = each.resident;
    m.swapped = each.swapped;
    image.add_mapping(std::move(m));
    counts.resident += each.resident;
    counts.anonymous += each.anonymous;
    counts.swapped += each.swapped;
    if (is_closed && is_private) counts.closed += each.anonymous + each.swapped;
  }
  if (counts.resident != 0) image.counts = counts;  // else the system counts nothing here
}

void add_auxiliary(pid_t pid, memory_image& image) {
  std::ifstream file(place(pid, "auxv"), std::ios::binary);
  for (Elf64_auxv_t value{}; file.read(reinterpret_cast<char*>(&value), sizeof value);) {
    if (value.a_type == AT_ENTRY) image.entry = value.a_un.a_val;
    if (value.a_type == AT_RANDOM) image.first_stack = value.a_un.a_val;
  }
  image.command = files::process_file(pid, "cmdline");
  std::ranges::replace(image.command, '\0', ' ');
  while (image.command.ends_with(' ')) image.command.pop_back();
}

std::uint64_t bytes_of(const std::vector<address_range>& places) {
  std::uint64_t bytes = 0;
  for (const address_range& each : places) bytes += each.end - each.begin;
  return bytes;
}

/// Returns: the stretches of pages that the process alone has.
std::vector<address_range> own_pages(pid_t pid) {
  try {
    return trace::process_memory(pid, 0).places_of_pointers();
  } catch (const std::system_error& error) {
    refuse(pid, error.code().value(), "its memory");
  } catch (const std::runtime_error& error) {
    fail(fmt::format("process {}: {}", pid, error.what()));
  }
}

/// What one call of the system copies.
struct copied_part {
  std::vector<iovec> there;
  std::byte* here = nullptr;
  std::size_t bytes = 0;
};
std::vector<copied_part> parts_of(const std::vector<address_range>& places, std::byte* to) {
  constexpr std::size_t places_each = 512;
  constexpr std::size_t bytes_each = std::size_t{16} << 20;
  std::vector<copied_part> parts;
  for (address_range place : places) {
    while (place.begin < place.end) {
      if (parts.empty() || parts.back().bytes >= bytes_each ||
          parts.back().there.size() == places_each)
        parts.push_back({{}, to, 0});
      copied_part& part = parts.back();
      const auto bytes = static_cast<std::size_t>(
          std::min<std::uint64_t>(place.end - place.begin, bytes_each - part.bytes));
      part.there.push_back({reinterpret_cast<void*>(place.begin), bytes});
      part.bytes += bytes;
      to += bytes;
      place.begin += bytes;
    }
  }
  return parts;
}

/// Effects: copies it; pages that cannot be read stay zero. Returns: 0, or the error's number.
int copy_part(pid_t pid, copied_part part) {
  constexpr std::uint64_t page = 4096;
  for (std::size_t k = 0; part.bytes != 0;) {
    const iovec here{part.here, part.bytes};
    const ssize_t got =
        ::process_vm_readv(pid, &here, 1, part.there.data() + k, part.there.size() - k, 0);
    if (got < 0 && errno != EFAULT) return errno;
    std::size_t moved = got > 0 ? static_cast<std::size_t>(got) : page;  // a page that went away
    moved = std::min(moved, part.bytes);
    part.here += moved;
    part.bytes -= moved;
    while (moved != 0) {
      iovec& first = part.there[k];
      const std::size_t some = std::min(moved, first.iov_len);
      first.iov_base = static_cast<std::byte*>(first.iov_base) + some;
      first.iov_len -= some;
      moved -= some;
      if (first.iov_len == 0) ++k;
    }
  }
  return 0;
}

/// Effects: copies the bytes of `places` one behind the other, on several processors: the system
/// spends more time for each page than for its bytes. Pages that cannot be read stay zero.
void copy_pages(pid_t pid, const std::vector<address_range>& places, std::span<std::byte> to) {
  constexpr std::size_t threads_max = 8;
  const std::vector<copied_part> parts = parts_of(places, to.data());
  std::atomic<std::size_t> next{0};
  std::atomic<int> failure{0};
  const auto work = [&] {
    for (std::size_t i = 0; failure == 0 && (i = next++) < parts.size();)
      if (const int error = copy_part(pid, parts[i]); error != 0) failure = error;
  };
  std::vector<std::thread> helpers;
  const std::size_t threads =
      std::min<std::size_t>({threads_max, std::thread::hardware_concurrency(), parts.size()});
  try {
    while (helpers.size() + 1 < threads) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    next = next.load();  // no thread is to be had: those that run do it
  }
  work();
  for (std::thread& each : helpers) each.join();
  if (failure != 0) refuse(pid, failure, "its memory");
}

}  // namespace

process_copy copy_process(pid_t pid) {
  require_process(pid);
  const std::string tracer = status_of(pid, "TracerPid");
  if (tracer.empty()) require_process(pid);  // it has ended since
  const bool held = tracer != "0" && is_held(pid);
  if (tracer != "0" && !held)
    fail(
        fmt::format("process {} is traced by process {}: end that, or interrupt the process in the "
                    "debugger, where it can be read as it stands",
                    pid, tracer));

  process_copy copy;
  copy.image.process = static_cast<std::uint32_t>(pid);
  add_auxiliary(pid, copy.image);
  // Room for all of it is there before the process stops, and a little more than it has now.
  const std::uint64_t now = bytes_of(own_pages(pid));
  mapped_bytes room = mapped_bytes::of_memory(static_cast<std::size_t>(now + now / 16 + (1 << 20)));
  std::vector<address_range> places;
  const auto begin = std::chrono::steady_clock::now();
  const auto look = [&] {
    add_mappings(pid, copy.image);
    places = own_pages(pid);
    copy.bytes = bytes_of(places);
    if (copy.bytes > room.bytes().size())
      room = mapped_bytes::of_memory(static_cast<std::size_t>(copy.bytes));
    copy_pages(pid, places, room.bytes());
  };
  if (held) {
    add_held_threads(pid, copy.image);
    look();
  } else {
    const stopped_threads still(pid);
    still.add_to(copy.image);
    look();
  }
  if (!held)
    copy.pause_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (copy.image.mappings().empty()) fail_gone(pid);
  std::size_t at = 0;
  for (const address_range& each : places) {
    const auto bytes = static_cast<std::size_t>(each.end - each.begin);
    copy.image.add_bytes(each.begin, room.bytes().subspan(at, bytes));
    at += bytes;
  }
  copy.image.keep(std::move(room));
  return copy;
}

}  // namespace ashlar::image
