// bench/workloads/harness.cpp: the parts of the harness that are not on a timed path.
#include "harness.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bench {

bool quick = false;

namespace {
std::size_t harness_bytes = 0;
}  // namespace

void fail(const char* message) {
  std::fprintf(stderr, "alloc_bench: %s\n", message);
  std::_Exit(1);  // another thread may be running: no destructors
}

std::size_t random_source::log_uniform(std::size_t low, std::size_t high) {
  const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
  const double size =
      static_cast<double>(low) *
      std::exp2(unit * std::log2(static_cast<double>(high) / static_cast<double>(low)));
  return std::clamp(static_cast<std::size_t>(size), low, high);
}

void* map_pages(std::size_t size_bytes) {
  const std::size_t rounded = (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* pages = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) fail("no pages for the harness's own arrays");
  harness_bytes += rounded;
  return pages;
}

page_array<std::uint32_t> shuffled_order(std::size_t count, std::uint64_t seed) {
  page_array<std::uint32_t> order(count);
  random_source random(seed);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

double series::quantile(double p) {
  if (count_ == 0) fail("a workload measured nothing");
  std::sort(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(count_));
  const double place = p * static_cast<double>(count_ - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, count_ - 1);
  const double share = place - static_cast<double>(below);
  return values_[below] * (1 - share) + values_[above] * share;
}

namespace {
template <class Convert>
series converted(series& values, Convert convert) {
  series result;
  const auto last = static_cast<double>(values.count() - 1);
  for (std::size_t i = 0; i < values.count(); ++i)
    result.add(convert(values.quantile(last == 0 ? 0 : static_cast<double>(i) / last)));
  return result;
}
}  // namespace

series to_mops(series& nanoseconds_each, std::size_t operations) {
  return converted(nanoseconds_each,
                   [&](double ns) { return static_cast<double>(operations) * 1e3 / ns; });
}
series to_ns_per(series& nanoseconds_each, std::size_t operations) {
  return converted(nanoseconds_each,
                   [&](double ns) { return ns / static_cast<double>(operations); });
}

std::size_t status_kib(const char* field) {
  std::array<char, 4096> text;
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  if (length <= 0) return 0;
  text[static_cast<std::size_t>(length)] = '\0';
  const char* line = std::strstr(text.data(), field);
  return line == nullptr ? 0 : std::strtoul(line + std::strlen(field) + 1, nullptr, 10);
}

void report(const char* workload, const char* variant, const char* unit, series& values,
            std::size_t operations) {
  const std::size_t peak = status_kib("VmHWM");
  const std::size_t page_tables = status_kib("VmPTE");
  std::printf(
      "workload=%s size=%s unit=%s value=%.4g low=%.4g high=%.4g samples=%zu operations=%zu "
      "peak_rss_kib=%zu harness_kib=%zu page_tables_kib=%zu\n",
      workload, variant, unit, values.quantile(0.5), values.quantile(0), values.quantile(1),
      values.count(), operations, peak, harness_bytes / 1024, page_tables);
}

bool is(const char* argument, std::string_view word) {
  return argument != nullptr && word == argument;
}

std::size_t number(const char* argument, std::size_t otherwise, std::size_t low, std::size_t high) {
  if (argument == nullptr) return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(argument, &end, 10);
  if (end == argument || *end != '\0' || value < low || value > high) {
    std::fprintf(stderr, "alloc_bench: '%s' is not a number from %zu to %zu\n", argument, low,
                 high);
    std::_Exit(2);
  }
  return static_cast<std::size_t>(value);
}

}  // namespace bench
