// tools/trace/process_memory.cpp. Layer: trace.
#include "tools/trace/process_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
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

std::vector<address_range> process_memory::places_of_pointers() {
  const std::string path = fmt::format("/proc/{}/maps", pid_);
  std::ifstream maps(path);
  if (!maps) refuse(errno, path);
  page_table pages(pid_);
  std::vector<address_range> places;
  for (std::string line; std::getline(maps, line);) {
    address_range mapping;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &mapping.begin, &mapping.end,
                    rights) != 3)
      continue;
    // What is private and can be read. The system's own pages say that they are shared, or cannot be read.
    if (rights[0] != 'r' || rights[3] != 'p') continue;
    if (line.ends_with("[stack]") && stack_begin_ > mapping.begin && stack_begin_ < mapping.end) {
      places.push_back({stack_begin_ / sizeof(std::uint64_t) * sizeof(std::uint64_t), mapping.end});
      continue;
    }
    if (mapping.end - mapping.begin > mapping_max)
      throw std::runtime_error(
          fmt::format("the process has a mapping of {} GiB, too much to look through",
                      (mapping.end - mapping.begin) >> 30));
    pages.add_own_pages(mapping, places);
  }
  return places;
}

std::uint64_t process_memory::closed_bytes() {
  constexpr std::uint64_t longest = std::uint64_t{1} << 30;  // a longer one is only reserved
  std::ifstream maps(fmt::format("/proc/{}/maps", pid_));
  page_table pages(pid_);
  std::vector<address_range> places;
  for (std::string line; std::getline(maps, line);) {
    address_range mapping;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &mapping.begin, &mapping.end,
                    rights) == 3 &&
        rights[0] != 'r' && rights[3] == 'p' && mapping.end - mapping.begin <= longest)
      pages.add_own_pages(mapping, places);
  }
  std::uint64_t bytes = 0;
  for (const address_range& each : places) bytes += each.end - each.begin;
  return bytes;
}

std::size_t process_memory::read(std::uint64_t address, std::span<std::uint64_t> to) {
  const iovec here{to.data(), to.size_bytes()};
  const iovec there{reinterpret_cast<void*>(address), to.size_bytes()};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
  if (got < 0 && errno != EFAULT) refuse(errno, fmt::format("the memory of process {}", pid_));
  return got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(std::uint64_t);
}

}  // namespace ashlar::trace
