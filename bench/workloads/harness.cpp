// bench/workloads/harness.cpp: the parts of the harness that are not on a timed path.
#include "harness.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <sys/resource.h>

namespace bench {

bool quick = false;
std::size_t bodies_to_count = 0;
const char* histogram_path = nullptr;

void fail(const char* message) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message);
  std::_Exit(1);  // another thread may be running: no destructors
}

void never_counted(const char* workload) {
  if (bodies_to_count == 0) return;
  std::fprintf(stderr, "alloc_bench: %s has no body to count; run it without --count\n", workload);
  std::_Exit(2);
}

std::size_t random_source::log_uniform(std::size_t low, std::size_t high) {
  const double size =
      static_cast<double>(low) *
      std::exp2(unit() * std::log2(static_cast<double>(high) / static_cast<double>(low)));
  return std::clamp(static_cast<std::size_t>(size), low, high);
}

std::size_t random_source::pareto(std::size_t low, std::size_t high, double alpha) {
  const double beyond = std::pow(static_cast<double>(low) / static_cast<double>(high), alpha);
  const double size = static_cast<double>(low) * std::pow(1 - unit() * (1 - beyond), -1 / alpha);
  return std::clamp(static_cast<std::size_t>(size), low, high);
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

series to_mops(const series& nanoseconds_each, std::size_t operations) {
  return nanoseconds_each.converted(
      [=](double ns) { return static_cast<double>(operations) * 1e3 / ns; });
}

label::label(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(text_.data(), text_.size(), format, values);
  va_end(values);
  if (length < 0 || static_cast<std::size_t>(length) >= text_.size())
    fail("a variant's name is too long");
}

namespace {

struct result {
  const char* workload;
  label variant;
  const char* unit;
  series values;
  std::size_t operations;
  kind about;
  fact more;
};

std::array<std::optional<result>, 32> results;  // not on the heap under test
std::size_t result_count = 0;

constexpr const char* names_of_kinds[] = {"time", "memory", "latency", "ratio"};

}  // namespace

void report(const char* workload, const char* variant, const char* unit, series values,
            std::size_t operations, kind about, fact more) {
  if (result_count == results.size()) fail("a workload has too many results");
  results[result_count++] =
      result{workload, label("%s", variant), unit, values, operations, about, more};
}

void print_results() {
  if (result_count == 0) fail("a workload reported nothing");
  const std::size_t final_resident = resident_kib();
  const std::size_t peak = status_kib("VmHWM");
  const std::size_t page_tables = status_kib("VmPTE");
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  for (std::size_t i = 0; i < result_count; ++i) {
    result& each = *results[i];
    const char* variant = each.variant;
    if (bodies_to_count != 0) {
      std::printf("counted=%zu workload=%s size=%s\n", bodies_to_count, each.workload, variant);
      continue;
    }
    std::printf(
        "workload=%s size=%s unit=%s kind=%s value=%.4g low=%.4g high=%.4g samples=%zu "
        "operations=%zu peak_rss_kib=%zu final_rss_kib=%zu harness_kib=%zu page_tables_kib=%zu "
        "minor_faults=%ld major_faults=%ld",
        each.workload, variant, each.unit, names_of_kinds[static_cast<std::size_t>(each.about)],
        each.values.quantile(0.5), each.values.quantile(0), each.values.quantile(1),
        each.values.count(), each.operations, peak, final_resident, harness_bytes() / 1024,
        page_tables, used.ru_minflt, used.ru_majflt);
    if (each.more.key != nullptr) std::printf(" %s=%.4g", each.more.key, each.more.value);
    std::putchar('\n');
  }
}

bool is(const char* argument, std::string_view word) {
  return argument != nullptr && word == argument;
}

bool option(const char* argument, std::string_view word) {
  if (argument == nullptr || is(argument, word)) return argument != nullptr;
  std::fprintf(stderr, "alloc_bench: '%s' is not a parameter here; '%.*s' is\n", argument,
               static_cast<int>(word.size()), word.data());
  std::_Exit(2);
}

std::size_t number(const char* argument, std::size_t otherwise, std::size_t low, std::size_t high) {
  if (argument == nullptr) return otherwise;
  char* end = nullptr;
  unsigned long long value = std::strtoull(argument, &end, 10);
  const bool digits = *argument >= '0' && *argument <= '9';
  const unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
  if (shift != 0) ++end;
  if (!digits || *end != '\0' || value > high >> shift || value << shift < low) {
    std::fprintf(stderr, "alloc_bench: '%s' is not a number from %zu to %zu\n", argument, low,
                 high);
    std::_Exit(2);
  }
  return static_cast<std::size_t>(value << shift);
}

}  // namespace bench
