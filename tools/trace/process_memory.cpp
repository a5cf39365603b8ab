// tools/trace/process_memory.cpp. Layer: trace.
#include "tools/trace/process_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

namespace ashlar::trace {
namespace {

/// The system tells of each page. Those of a longer mapping, as AddressSanitizer has, take it minutes.
constexpr std::uint64_t mapping_max = std::uint64_t{256} << 30;

[[noreturn]] void refuse(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// What the system keeps of each page of a process (Documentation/admin-guide/mm/pagemap.rst of Linux).
class page_table {
 public:
  explicit page_table(pid_t pid) : path_(fmt::format("/proc/{}/pagemap", pid)) {
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) refuse(errno, path_);
  }
  ~page_table() { ::close(file_); }
  page_table(const page_table&) = delete;
  page_table& operator=(const page_table&) = delete;

  /// Effects: adds the stretches of pages that are the process's own and in memory, or swapped out.
  void add_own_pages(address_range mapping, std::vector<address_range>& to) {
    constexpr std::uint64_t present = std::uint64_t{1} << 63;
    constexpr std::uint64_t swapped = std::uint64_t{1} << 62;
    constexpr std::uint64_t guarded = std::uint64_t{1} << 58;  // as told since Linux 6.15
    constexpr std::uint64_t file_or_shared = std::uint64_t{1} << 61;
    for (std::uint64_t at = mapping.begin; at < mapping.end;) {
      const auto count = static_cast<std::size_t>(
          std::min<std::uint64_t>((mapping.end - at) / page_bytes_, entries_each));
      const ssize_t got = ::pread(file_, entries_.data(), count * sizeof entries_[0],
                                  static_cast<off_t>(at / page_bytes_ * sizeof entries_[0]));
      if (got < 0) refuse(errno, path_);
      const std::size_t pages = static_cast<std::size_t>(got) / sizeof entries_[0];
      for (std::size_t i = 0; i < pages; ++i) {
        const std::uint64_t entry = entries_[i];
        if ((entry & (present | swapped)) == 0 || (entry & (file_or_shared | guarded)) != 0)
          continue;
        const std::uint64_t begin = at + i * page_bytes_;
        if (!to.empty() && to.back().end == begin)
          to.back().end += page_bytes_;
        else
          to.push_back({begin, begin + page_bytes_});
      }
      if (pages < count) return;
      at += count * page_bytes_;
    }
  }

 private:
  static constexpr std::size_t entries_each = 64u << 10;
  std::string path_;
  int file_ = -1;
  std::uint64_t page_bytes_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<std::uint64_t> entries_ = std::vector<std::uint64_t>(entries_each);
};

}  // namespace

std::optional<std::vector<process_mapping>> mappings_of(pid_t pid, mapping_detail detail) {
  std::ifstream file(
      fmt::format("/proc/{}/{}", pid, detail == mapping_detail::counts ? "smaps" : "maps"));
  if (!file) return std::nullopt;
  std::vector<process_mapping> all;
  for (std::string line; std::getline(file, line);) {
    if (line[0] >= 'A' && line[0] <= 'Z') {  // a count of the mapping before
      const auto count = [&](std::string_view name, std::uint64_t& to) {
        if (line.starts_with(name)) to = std::strtoull(&line[name.size()], nullptr, 10) << 10;
      };
      if (all.empty()) continue;
      count("Rss:", all.back().resident);
      count("Anonymous:", all.back().anonymous);
      count("Swap:", all.back().swapped);
      continue;
    }
    process_mapping m;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m.begin,
                    &m.end, rights, &m.offset, &path) != 4)
      continue;
    m.rights = rights;
    if (path != 0) m.path = line.substr(static_cast<std::size_t>(path));
    // One that grew between two reads of the file is told twice.
    while (!all.empty() && all.back().end > m.begin) all.pop_back();
    all.push_back(std::move(m));
  }
  return all;
}

std::vector<address_range> process_memory::places_of_pointers() {
  const auto mappings = mappings_of(pid_);
  if (!mappings) refuse(errno, fmt::format("/proc/{}/maps", pid_));
  page_table pages(pid_);
  std::vector<address_range> places;
  for (const process_mapping& each : *mappings) {
    // What is private and can be read. The system's own pages say that they are shared, or cannot be read.
    if (!each.rights.starts_with('r') || !each.rights.ends_with('p')) continue;
    if (each.rights[1] == 'w' && each.path.find("/libc.so.") != std::string::npos)
      c_library_ = {each.begin, each.end};
    if (each.path == "[stack]" && stack_begin_ > each.begin && stack_begin_ < each.end) {
      places.push_back({stack_begin_ / sizeof(std::uint64_t) * sizeof(std::uint64_t), each.end});
      continue;
    }
    if (each.end - each.begin > mapping_max)
      throw std::runtime_error(
          fmt::format("the process has a mapping of {} GiB, too much to look through",
                      (each.end - each.begin) >> 30));
    pages.add_own_pages({each.begin, each.end}, places);
  }
  return places;
}

std::size_t process_memory::read(std::uint64_t address, std::span<std::uint64_t> to) {
  const iovec here{to.data(), to.size_bytes()};
  const iovec there{reinterpret_cast<void*>(address), to.size_bytes()};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
  if (got < 0 && errno != EFAULT) refuse(errno, fmt::format("the memory of process {}", pid_));
  return got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(std::uint64_t);
}

}  // namespace ashlar::trace
