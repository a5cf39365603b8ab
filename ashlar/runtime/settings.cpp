// runtime/settings.cpp: reading the environment without allocating.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {
namespace {

constinit char** noted_environment = nullptr;

void complain(const char* name, const char* value, const char* expected) noexcept {
  line_writer<256> line;
  line << "ashlar: " << name << "=" << value << " is ignored: expected " << expected;
  line.end_line();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

/// Effects: stores the variable's value if it is a whole number of at least `least`.
void read_number(char** environment, const char* name, std::int64_t least, const char* expected,
                 std::int64_t& value) noexcept {
  const char* text = find_setting(environment, name);
  if (text == nullptr) return;
  char* end = nullptr;
  const int saved = errno;
  errno = 0;
  const long long number = std::strtoll(text, &end, 10);
  if (errno == 0 && *end == '\0' && number >= least)
    value = number;
  else
    complain(name, text, expected);
  errno = saved;
}

/// Under full checks one of so many blocks is guarded. A guarded block's life is some 10 us of system calls and page
/// faults: so they add less than a fifth to the 0.5 us of full checks without call stacks, and nothing that shows with
/// them; and 4096 slots last for half a million live blocks.
constexpr std::int64_t guarded_by_full_checks = 128;
/// Intervals are drawn up to twice this, in 32 bits.
constexpr std::int64_t guard_interval_max = std::int64_t{1} << 30;

}  // namespace

char** process_environment() noexcept {
  return environ != nullptr ? environ : noted_environment;
}
void note_environment(char** environment) noexcept {
  noted_environment = environment;
}

const char* find_setting(char** environment, const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    const char* entry = *environment;
    if (std::strncmp(entry, name, length) == 0 && entry[length] == '=')
      return entry[length + 1] != '\0' ? entry + length + 1 : nullptr;
  }
  return nullptr;
}

settings read_settings(char** environment) noexcept {
  settings s;
  read_number(environment, "ASHLAR_PURGE_DELAY_MS", -1, "milliseconds, 0 or -1", s.purge.delay_ms);
  std::int64_t keep = 0;
  read_number(environment, "ASHLAR_KEEP_BYTES", 0, "a number of bytes", keep);
  s.purge.keep_bytes = static_cast<std::size_t>(keep);
  if (const char* text = find_setting(environment, "ASHLAR_BACKGROUND"); text != nullptr) {
    s.background = std::strcmp(text, "1") == 0;
    if (!s.background && std::strcmp(text, "0") != 0) complain("ASHLAR_BACKGROUND", text, "0 or 1");
  }
  if (const char* text = find_setting(environment, "ASHLAR_STATS"); text != nullptr) {
    if (std::strcmp(text, "exact") == 0)
      s.exact = true;
    else if (std::strcmp(text, "batch") != 0)
      complain("ASHLAR_STATS", text, "batch or exact");
  }
  if (const char* text = find_setting(environment, "ASHLAR_CHECK"); text != nullptr) {
    s.full = std::strcmp(text, "full") == 0;
    if (s.full || std::strcmp(text, "1") == 0)
      s.exact = true;
    else if (std::strcmp(text, "0") != 0)
      complain("ASHLAR_CHECK", text, "0, 1 or full");
  }
  auto queue = static_cast<std::int64_t>(s.checks.queue_bytes);
  read_number(environment, "ASHLAR_CHECK_QUEUE_BYTES", 0, "a number of bytes", queue);
  s.checks.queue_bytes = static_cast<std::size_t>(queue);
  std::int64_t depth = s.checks.stack_depth;
  read_number(environment, "ASHLAR_CHECK_STACK_DEPTH", 0, "a number of frames, 0 for none", depth);
  s.checks.stack_depth =
      static_cast<unsigned>(std::min<std::int64_t>(depth, os::call_stack::depth_max));
  std::int64_t one_of = s.full ? guarded_by_full_checks : 0;
  read_number(environment, "ASHLAR_CHECK_GUARD", 0, "N, to guard one of N blocks, or 0 for none",
              one_of);
  auto slots = static_cast<std::int64_t>(s.guards.slots);
  read_number(environment, "ASHLAR_CHECK_GUARD_SLOTS", 1, "a number of blocks", slots);
  auto before = static_cast<std::int64_t>(s.guards.before_one_of);
  read_number(environment, "ASHLAR_CHECK_GUARD_BEFORE", 0,
              "N, to close the page before one of N guarded blocks, or 0 for none", before);
  s.guards = {.one_of = static_cast<std::size_t>(std::min(one_of, guard_interval_max)),
              .slots = static_cast<std::size_t>(slots),
              .stack_depth = s.checks.stack_depth,
              .fills = s.full,
              .before_one_of = static_cast<std::size_t>(before)};
  return s;
}

bool keeps_deepbind() noexcept {
  static constinit std::atomic<int> known{-1};
  int keeps = known.load(std::memory_order_relaxed);
  if (keeps >= 0) return keeps != 0;
  constexpr const char* name = "ASHLAR_DEEPBIND";
  char** const environment = process_environment();
  const char* const text = environment != nullptr ? find_setting(environment, name) : nullptr;
  keeps = text != nullptr && std::strcmp(text, "keep") == 0 ? 1 : 0;
  if (text != nullptr && keeps == 0 && std::strcmp(text, "drop") != 0)
    complain(name, text, "drop or keep");
  known.store(keeps, std::memory_order_relaxed);
  return keeps != 0;
}

}  // namespace ashlar::runtime
