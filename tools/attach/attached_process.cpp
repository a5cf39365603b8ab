// tools/attach/attached_process.cpp. Layer: attach.
#include "tools/attach/attached_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/attach/process_modules.hpp"
#include "tools/attach/registers.hpp"
#include "tools/attach/stopped_thread.hpp"
#include "tools/files/files.hpp"
#include "tools/files/process_status.hpp"
#include "tools/image/process_status.hpp"

namespace ashlar::attach {
namespace {

using files::status_of;
using image::fail;
using image::place;

constexpr const char* from_the_start = "record it from its start: ashlar record -- PROGRAM";

std::uint16_t machine_of(pid_t pid, unsigned char& word_class) {
  std::array<unsigned char, 20> head{};
  std::ifstream file(place(pid, "exe"), std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(head.data()), head.size())) {
    image::refuse(pid, EACCES, "its program");
  }
  word_class = head[4];
  return static_cast<std::uint16_t>(head[18] | head[19] << 8);
}

std::string name_space(pid_t pid, const char* kind) {
  std::array<char, 64> text{};
  const ssize_t got = ::readlink(place(pid, kind).c_str(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

int filters_of(pid_t pid) { return std::atoi(status_of(pid, "Seccomp_filters").c_str()); }

/// Effects: says what is in the way before anything stops.
void require_attachable(pid_t pid) {
  image::require_process(pid);
  if (!can_call) fail(fmt::format("ashlar attaches on x86-64 only; {}", from_the_start));
  if (::access(place(pid, "mem").c_str(), R_OK) != 0 && errno != ENOENT)
    image::refuse(pid, errno, "its memory");
  unsigned char word_class = 0;
  if (const std::uint16_t machine = machine_of(pid, word_class);
      machine != own_machine || word_class != ELFCLASS64)
    fail(
        fmt::format("process {} runs code of another kind than this command ({}); use an ashlar of "
                    "its kind",
                    pid, machine == EM_386 ? "32 bits" : fmt::format("machine {}", machine)));
  if (const std::string tracer = status_of(pid, "TracerPid"); tracer != "0" && !tracer.empty())
    fail(fmt::format(
        "process {} is traced by process {}: end that first (a debugger: its command detach)", pid,
        tracer));
  if (status_of(pid, "State").starts_with('T'))
    fail(fmt::format("process {} is stopped: let it go on first (kill -CONT {})", pid, pid));
  if (name_space(pid, "ns/pid") != name_space(::getpid(), "ns/pid"))
    fail(
        fmt::format("process {} is in a container, which counts processes for itself: run ashlar "
                    "in there (nsenter -t {} -m -p ashlar record -p NUMBER)",
                    pid, pid));
  if (filters_of(pid) > filters_of(::getpid()))
    fail(
        fmt::format("process {} has a filter of system calls (seccomp), which could end it: start "
                    "it without one (systemd: SystemCallFilter=), or {}",
                    pid, from_the_start));
}

void require_loader(pid_t pid, const process_modules& modules) {
  if (!modules.c_library().empty()) return;
  const std::string musl = modules.find_file("ld-musl");
  if (!musl.empty())
    fail(
        fmt::format("process {} runs with musl ({}), and the recorder is made for the GNU C "
                    "library: an ashlar that was built with musl records it from its start",
                    pid, musl));
  fail(
      fmt::format("process {} is linked statically: nothing can be loaded into it. Link ashlar in "
                  "and use its statistics, or link the program dynamically",
                  pid));
}

/// Returns: the path of the library in the process's own tree of files; empty: it is not there.
std::string path_in_process(pid_t pid, const std::string& library) {
  struct stat here{};
  struct stat there{};
  if (::stat(library.c_str(), &here) != 0) return {};
  if (::stat((place(pid, "root") + library).c_str(), &there) != 0) return {};
  return here.st_dev == there.st_dev && here.st_ino == there.st_ino ? library : std::string();
}

std::string read_text(pid_t pid, std::uint64_t address) {
  std::string text;
  for (char c = 0; text.size() < 512 && read_bytes(pid, address + text.size(), &c, 1) && c != 0;)
    text += c;
  return text;
}

std::string find_loaded(const process_modules& modules) {
  const std::string file = modules.find_file("libashlar-record");
  return !file.empty() ? file : modules.find_file("memfd:libashlar-record");
}

struct loader {
  std::uint64_t open = 0;   // dlopen
  std::uint64_t error = 0;  // dlerror; 0: there is none
  std::uint64_t more_flags = 0;
};

loader loader_of(pid_t pid, const process_modules& modules) {
  const std::string c_library = modules.c_library();
  for (const std::string& file :
       {c_library, modules.find_file("libdl.so.2"), modules.find_file("libdl-2.")}) {
    if (file.empty()) continue;
    const auto open = modules.find_function(file, "dlopen");
    if (open) return {*open, modules.find_function(file, "dlerror").value_or(0), 0};
  }
  // Before version 2.34, a program without libdl has the C library's own way.
  constexpr std::uint64_t for_dlopen = 0x80000000;
  const auto open = modules.find_function(c_library, "__libc_dlopen_mode");
  if (open) return {*open, 0, for_dlopen};
  fail(fmt::format("process {} has no function that loads a library; {}", pid, from_the_start));
}

/// Effects: a new descriptor in the process, of memory. Returns: its number there.
int make_memory(borrowed_thread& thread, pid_t pid, std::uint64_t system_call, const char* name) {
  const auto got =
      static_cast<int>(thread.call(system_call, {SYS_memfd_create, thread.put(name), MFD_CLOEXEC}));
  if (got < 0)
    fail(fmt::format("process {} cannot have memory for recording: {}", pid,
                     std::strerror(thread.error_number())));
  return got;
}

/// Returns: this process's own descriptor of another's.
int open_descriptor_of(pid_t pid, int number) {
  const int opened = ::open(fmt::format("/proc/{}/fd/{}", pid, number).c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) image::refuse(pid, errno, "its memory for recording");
  return opened;
}

void copy_file(const std::string& from, int to) {
  std::ifstream file(from, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (const int error = files::write_all(to, bytes); error != 0)
    fail(fmt::format("cannot copy '{}' into the process: {}", from, std::strerror(error)));
}

}  // namespace

attached_process::attached_process(pid_t pid, const std::string& library) : pid_(pid) {
  require_attachable(pid);
  handle_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (handle_ < 0) image::refuse(pid, errno, "pidfd_open");
  load(library);
}

attached_process::~attached_process() {
  if (memory_ >= 0) ::close(memory_);
  if (handle_ >= 0) ::close(handle_);
}

void attached_process::load(const std::string& library) {
  const process_modules modules(pid_);
  require_loader(pid_, modules);
  const loader with = loader_of(pid_, modules);
  const std::string c_library = modules.c_library();
  const std::uint64_t system_call = modules.find_function(c_library, "syscall").value_or(0);
  const std::uint64_t close = modules.find_function(c_library, "close").value_or(0);
  loaded_ = find_loaded(modules);
  {
    borrowed_thread thread(pid_, modules);
    if (loaded_.empty()) {
      std::string path = path_in_process(pid_, library);
      int copy = -1;
      if (path.empty()) {
        copy = make_memory(thread, pid_, system_call, "libashlar-record.so");
        const int here = open_descriptor_of(pid_, copy);
        copy_file(library, here);
        ::close(here);
        path = fmt::format("/proc/self/fd/{}", copy);
      }
      const std::uint64_t opened =
          thread.call(with.open, {thread.put(path), RTLD_NOW | RTLD_LOCAL | with.more_flags});
      std::string why;
      if (opened == 0 && with.error != 0) why = read_text(pid_, thread.call(with.error, {}));
      if (copy >= 0) thread.call(close, {static_cast<std::uint64_t>(copy)});
      if (opened == 0)
        fail(fmt::format("the loader of process {} does not take the recorder: {}; {}", pid_,
                         why.empty() ? "it says no reason" : why, from_the_start));
    }
    memory_there_ = make_memory(thread, pid_, system_call, "ashlar-record");
    memory_ = open_descriptor_of(pid_, memory_there_);
    pause_ms_ = std::max(pause_ms_, thread.pause_ms());
  }
  if (loaded_.empty()) loaded_ = find_loaded(process_modules(pid_));
}

void attached_process::start() {
  const process_modules modules(pid_);
  const auto begin = modules.find_function(loaded_, "ashlar_record_start");
  if (!begin)
    fail(fmt::format("process {} has a recorder of an older version ({}): restart the process",
                     pid_, loaded_));
  const std::string c_library = modules.c_library();
  const std::uint64_t close = modules.find_function(c_library, "close").value_or(0);
  borrowed_thread thread(pid_, modules);
  const auto result = static_cast<int>(
      thread.call(*begin, {thread.put(fmt::format("/proc/self/fd/{}", memory_there_))}));
  const int error = result == 0 ? 0 : thread.error_number();
  thread.call(close, {static_cast<std::uint64_t>(memory_there_)});
  pause_ms_ = std::max(pause_ms_, thread.pause_ms());
  if (error == 0) return;
  switch (error) {
    case EBUSY:
      fail(fmt::format("process {} is being recorded already: end that first", pid_));
    case EPROTO:
      fail(
          fmt::format("process {} has a recorder of another version, from before: restart the "
                      "process, or use the ashlar that attached then",
                      pid_));
    case ENOMEM:
      fail(
          fmt::format("process {} has no address space for recording, which takes 2 GiB (ulimit "
                      "-v)",
                      pid_));
    case ENOEXEC:
      fail(fmt::format("process {} has no malloc and free that can be recorded; {}", pid_,
                       from_the_start));
    default:
      fail(fmt::format("process {} cannot begin to record: {}", pid_, std::strerror(error)));
  }
}

bool attached_process::stop() {
  if (ends_within(0)) return false;
  try {
    const process_modules modules(pid_);
    const auto end = modules.find_function(loaded_, "ashlar_record_stop");
    if (!end) return false;  // it has executed another program
    borrowed_thread thread(pid_, modules);
    thread.call(*end, {});
    pause_ms_ = std::max(pause_ms_, thread.pause_ms());
  } catch (const std::exception&) {
    if (ends_within(0)) return false;
    throw;
  }
  return true;
}

bool attached_process::ends_within(std::uint32_t ms) const {
  pollfd end{handle_, POLLIN, 0};
  return ::poll(&end, 1, static_cast<int>(ms)) > 0;
}

}  // namespace ashlar::attach
