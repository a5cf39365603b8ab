// bench/workloads/memory.cpp: reads /proc without allocating.
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.hpp"

namespace bench {
namespace {

std::size_t mapped_bytes = 0;

std::size_t kib_field(const char* path, const char* field) {
  std::array<char, 4096> text;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  if (length <= 0) return 0;
  text[static_cast<std::size_t>(length)] = '\0';
  const char* line = std::strstr(text.data(), field);
  return line == nullptr ? 0 : std::strtoul(line + std::strlen(field) + 1, nullptr, 10);
}

double without_harness(std::size_t kib) {
  return std::max(0.0, static_cast<double>(kib * 1024) - static_cast<double>(mapped_bytes));
}

}  // namespace

void* map_pages(std::size_t size_bytes) {
  const std::size_t rounded = (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* pages = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) fail("no pages for the harness's own arrays");
  mapped_bytes += rounded;
  return pages;
}

std::size_t harness_bytes() { return mapped_bytes; }

std::size_t status_kib(const char* field) { return kib_field("/proc/self/status", field); }

std::size_t resident_kib() {
  const std::size_t exact = kib_field("/proc/self/smaps_rollup", "Rss:");
  return exact != 0 ? exact : status_kib("VmRSS");
}

resident_growth::resident_growth() : base_bytes_(without_harness(resident_kib())) {}

double resident_growth::now_bytes() const { return without_harness(resident_kib()) - base_bytes_; }

double resident_growth::peak_bytes() const {
  return without_harness(status_kib("VmHWM")) - base_bytes_;
}

}  // namespace bench
