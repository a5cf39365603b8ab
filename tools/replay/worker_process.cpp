// tools/replay/worker_process.cpp. Layer: replay.
#include "tools/replay/worker_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ashlar::replay {

namespace {

void read_at(int descriptor, void* into, std::size_t count, std::uint64_t at) {
  char* to = static_cast<char*>(into);
  while (count > 0) {
    const ::ssize_t got = ::pread(descriptor, to, count, static_cast<::off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) give_up("cannot read the script on standard input", got < 0 ? errno : EIO);
    to += got;
    count -= static_cast<std::size_t>(got);
    at += static_cast<std::uint64_t>(got);
  }
}

// The figure behind a name in a file of /proc, in KiB there; 0 where there is none.
std::uint64_t kibibytes_in(const char* path, const char* name) {
  std::array<char, 8192> text{};
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t length = 0;
  for (::ssize_t got = 1; got > 0 && length < text.size() - 1;
       length += static_cast<std::size_t>(std::max<::ssize_t>(got, 0)))
    got = ::read(file, text.data() + length, text.size() - 1 - length);
  ::close(file);
  const char* at = std::strstr(text.data(), name);
  if (at == nullptr) return 0;
  std::uint64_t figure = 0;
  for (at += std::strlen(name); *at == ' ' || *at == '\t'; ++at) {
  }
  for (; *at >= '0' && *at <= '9'; ++at)
    figure = figure * 10 + static_cast<std::uint64_t>(*at - '0');
  return figure * 1024;
}

}  // namespace

void give_up(const char* what, int error_number) {
  ::dprintf(STDERR_FILENO, "ashlar-replay-worker: %s: %s\n", what, std::strerror(error_number));
  ::_exit(worker_gave_up);
}

void* resident_memory(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) give_up("no memory for the table of slots", errno);
  return memory;
}

script_file::script_file(int descriptor) : descriptor_(descriptor) {
  read_at(descriptor_, &header_, sizeof header_, 0);
  const std::size_t threads_bytes = (header_.threads + std::size_t{1}) * sizeof(script_thread);
  const std::size_t bytes = threads_bytes + header_.chunks * sizeof(std::uint32_t);
  auto* const tables = static_cast<std::byte*>(resident_memory(bytes));
  read_at(descriptor_, tables, bytes, header_.tables_at);
  threads_ = reinterpret_cast<const script_thread*>(tables);
  chunks_ = reinterpret_cast<const std::uint32_t*>(tables + threads_bytes);
}

std::span<const operation> script_file::read_chunk(const script_thread& of, std::uint64_t index,
                                                   std::span<operation> into) const {
  const std::uint64_t before = index * chunk_operations;
  if (before >= of.operations) return {};
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(of.operations - before, chunk_operations));
  read_at(descriptor_, into.data(), count * sizeof(operation),
          chunks_at + chunks_[of.first_chunk_entry + index] * chunk_bytes);
  return into.first(count);
}

processor_time processor_time_now() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_usec) * 1000;
  };
  return {ns(used.ru_utime), ns(used.ru_stime)};
}

std::uint64_t resident_bytes_now() { return kibibytes_in("/proc/self/smaps_rollup", "\nRss:"); }

void forget_peak_resident_bytes() {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ::ssize_t ignored = ::write(file, "5", 1);  // sys: proc_pid_clear_refs(5)
  static_cast<void>(ignored);
  ::close(file);
}

std::uint64_t peak_resident_bytes() { return kibibytes_in("/proc/self/status", "\nVmHWM:"); }

void write_result(const void* bytes, std::size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ::ssize_t written = ::write(STDOUT_FILENO, from, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) give_up("cannot write the result on standard output", errno);
    from += written;
    count -= static_cast<std::size_t>(written);
  }
}

}  // namespace ashlar::replay
