// runtime/settings.cpp: reading the environment without allocating.
// Layer: runtime.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <ashlar/core/config.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/control_socket.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/replaced_file.hpp>
#include <ashlar/os/signals.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {
namespace {

constinit char** noted_environment = nullptr;

/// Intervals are drawn up to twice this, in 32 bits.
constexpr std::int64_t guard_interval_max = std::int64_t{1} << 30;

}  // namespace

void complain(const char* name, const char* value, const char* expected) noexcept {
  line_writer<256> line;
  constexpr std::size_t value_max = 100;  // what is expected has room behind it
  line << "ashlar: " << name << "=" << std::string_view(value, ::strnlen(value, value_max))
       << " is ignored: expected " << expected;
  line.end_line();
  os::write_to_stderr(line.data(), line.size());
}

namespace {

/// Effects: stores the variable's value, or `most` if that is less, if it is a whole number of at
/// least `least`.
template <class Value>
void read_number(char** environment, const char* name, std::int64_t least, const char* expected,
                 Value& value, std::int64_t most = INT64_MAX) noexcept {
  const char* text = find_setting(environment, name);
  if (text == nullptr) return;
  char* end = nullptr;
  const int saved = errno;
  errno = 0;
  const long long number = std::strtoll(text, &end, 10);
  if (errno == 0 && *end == '\0' && number >= least)
    value = static_cast<Value>(std::min<std::int64_t>(number, most));
  else
    complain(name, text, expected);
  errno = saved;
}

/// Effects: stores what the variable gives, if it is a number of bytes.
void read_bytes(char** environment, const char* name, const char* expected,
                std::uint64_t& value) noexcept {
  const char* const text = find_setting(environment, name);
  if (text != nullptr && !parse_bytes(text, value)) complain(name, text, expected);
}

/// Effects: stores the bound that ASHLAR_LIMIT gives.
void read_limit(char** environment, std::uint64_t& bytes) noexcept {
  constexpr const char* name = "ASHLAR_LIMIT";
  const char* const text = find_setting(environment, name);
  const char* const expected = text != nullptr ? parse_limit(text, bytes) : nullptr;
  if (expected != nullptr) complain(name, text, expected);
}

/// Returns: the value of the variable, which names a file that may be written; null if it names
/// none.
const char* read_file_to_write(char** environment, const char* name,
                               std::size_t path_max) noexcept {
  const char* const file = find_file_setting(environment, name);
  if (file == nullptr || std::strlen(file) < path_max) return file;
  complain(name, file, "a path of at most 1023 bytes");
  return nullptr;
}

sampling_settings read_sampling_settings(char** environment) noexcept {
  sampling_settings s;
  read_bytes(environment, "ASHLAR_SAMPLE",
             "a number of bytes such as 512K, to sample one of so many, or 0 for none", s.every);
  s.file = read_file_to_write(environment, "ASHLAR_SAMPLE_FILE", os::replaced_path_max);
  s.tag_limits = find_setting(environment, "ASHLAR_TAG_LIMIT");
  read_number(environment, "ASHLAR_SAMPLE_INTERVAL", 0, "a number of seconds, 0 for none",
              s.interval_s, 1'000'000'000);
  read_number(environment, "ASHLAR_SAMPLE_GUARD", 0, "N, to guard one of N samples, or 0 for none",
              s.guard_one_of, guard_interval_max);
  constexpr const char* name = "ASHLAR_SAMPLE_SIGNAL";
  if (const char* const text = find_setting(environment, name); text != nullptr) {
    s.signal = os::signal_number(text);
    if (s.signal == 0)
      complain(name, text, "USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG or a signal's number");
  }
  return s;
}

/// Returns: where the control socket is to be; null: nowhere.
const char* read_control(char** environment) noexcept {
  constexpr const char* name = "ASHLAR_CONTROL";
  const char* const where = find_setting(environment, name);
  if (where == nullptr || std::strcmp(where, "0") == 0) return nullptr;
  if (os::has_more_rights())
    complain(name, where, "no socket in a process that changes its rights (set-user-ID)");
  else if (!is_control_place(where))
    complain(name, where, "1, 0 or a path, with a / in it, of at most 94 bytes");
  else
    return where;
  return nullptr;
}

detail::fault_settings read_fault_settings(char** environment) noexcept {
  detail::fault_settings s;
  s.action = static_cast<detail::fault_action>(read_word(environment, "ASHLAR_FAULT",
                                                         {"abort", "continue", "trap", "callback"},
                                                         "abort, continue, trap or callback"));
  const std::size_t form = read_word(environment, "ASHLAR_FAULT_FORMAT",
                                     {"text", "json", "json-only"}, "text, json or json-only");
  s.json = form != 0;
  s.in_file_alone = form == 2;
  s.file = read_file_to_write(environment, "ASHLAR_FAULT_FILE", detail::fault_path_max);
  return s;
}

/// Under full checks one of so many blocks is guarded. A guarded block's life is some 10 us of
/// system calls and page faults: so they add less than a fifth to the 0.5 us of full checks without
/// call stacks, and nothing that shows with them; and 4096 slots last for half a million live
/// blocks.
constexpr std::size_t guarded_by_full_checks = 128;
/// In a hardened process: some 2 ns a block. Blocks that live long keep their slots, of a page and
/// more each.
constexpr std::size_t guarded_by_hardening = 8192;
constexpr std::size_t slots_by_hardening = 256;
/// The same for guarded samples, which a process may have all the time.
constexpr std::size_t slots_by_sampling = 256;
}  // namespace

char** process_environment() noexcept {
  char** const known = os::environment();
  return known != nullptr ? known : noted_environment;
}
void note_environment(char** environment) noexcept { noted_environment = environment; }

bool parse_bytes(const char* text, std::uint64_t& value) noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  std::uint64_t number = 0;
  const char* p = text;
  for (; *p >= '0' && *p <= '9' && number <= most; ++p)
    number = number * 10 + static_cast<std::uint64_t>(*p - '0');
  if (p == text) return false;
  constexpr const char* units = "KMG";
  if (const char* const unit = *p != '\0' ? std::strchr(units, *p) : nullptr; unit != nullptr) {
    const auto shift = 10 * static_cast<unsigned>(unit - units + 1);
    number = number <= most >> shift ? number << shift : most + 1;
    ++p;
    if (std::strcmp(p, "iB") == 0) p += 2;
  }
  if (*p != '\0' || number > most) return false;
  value = number;
  return true;
}

bool is_control_place(const char* where) noexcept {
  return std::strcmp(where, "1") == 0 || (std::strchr(where, '/') != nullptr &&
                                          std::strlen(where) <= os::control_socket::path_bytes_max);
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

const char* find_file_setting(char** environment, const char* name) noexcept {
  const char* const file = find_setting(environment, name);
  if (file == nullptr || !os::has_more_rights()) return file;
  complain(name, file, "no file in a process that changes its rights (set-user-ID)");
  return nullptr;
}

std::size_t read_word(char** environment, const char* name,
                      std::initializer_list<const char*> words, const char* expected,
                      std::size_t usual) noexcept {
  const char* const text = find_setting(environment, name);
  if (text == nullptr) return usual;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (std::strcmp(text, words.begin()[i]) == 0) return i;
  complain(name, text, expected);
  return usual;
}

const bool is_hardened_edition = hardened_by_default;

settings read_settings(char** environment) noexcept {
  settings s;
  read_number(environment, "ASHLAR_PURGE_DELAY_MS", -1, "milliseconds, 0 or -1", s.purge.delay_ms);
  read_number(environment, "ASHLAR_KEEP_BYTES", 0, "a number of bytes", s.purge.keep_bytes);
  read_limit(environment, s.limit_bytes);
  s.ends_at_limit =
      read_word(environment, "ASHLAR_LIMIT_ACTION", {"fail", "end"}, "fail or end") != 0;
  s.background = read_word(environment, "ASHLAR_BACKGROUND", {"0", "1"}, "0 or 1") != 0;
  s.huge_pages = static_cast<os::huge_pages>(read_word(
      environment, "ASHLAR_HUGE_PAGES", {"system", "never", "always"}, "system, never or always"));
  s.control = read_control(environment);
  const bool exact =
      read_word(environment, "ASHLAR_STATS", {"batch", "exact"}, "batch or exact") != 0;
  const std::size_t check =
      read_word(environment, "ASHLAR_CHECK", {"0", "1", "full"}, "0, 1 or full");
  s.exact = exact || check != 0;
  s.full = check == 2;
  s.harden =
      read_word(environment, "ASHLAR_HARDEN", {"0", "1"}, "0 or 1", hardened_by_default) != 0;
  s.shuffle = read_word(environment, "ASHLAR_HARDEN_SHUFFLE", {"0", "1"}, "0 or 1") != 0;
  const bool is_hardened = s.harden && !s.exact;  // what counts every call takes its place
  read_number(environment, "ASHLAR_CHECK_QUEUE_BYTES", 0, "a number of bytes",
              s.checks.queue_bytes);
  read_number(environment, "ASHLAR_CHECK_STACK_DEPTH", 0, "a number of frames, 0 for none",
              s.checks.stack_depth, os::call_stack::depth_max);
  s.guards.stack_depth = s.checks.stack_depth;
  s.guards.fills = s.full;
  if (s.full) s.guards.one_of = guarded_by_full_checks;
  if (is_hardened) {
    s.guards.one_of = guarded_by_hardening;
    s.guards.slots = slots_by_hardening;
  }
  s.sampling = read_sampling_settings(environment);
  if (s.sampling.guard_one_of != 0) s.guards.slots = slots_by_sampling;
  read_number(environment, "ASHLAR_CHECK_GUARD", 0, "N, to guard one of N blocks, or 0 for none",
              s.guards.one_of, guard_interval_max);
  read_number(environment, "ASHLAR_CHECK_GUARD_SLOTS", 1, "a number of blocks", s.guards.slots);
  read_number(environment, "ASHLAR_CHECK_GUARD_BEFORE", 0,
              "N, to close the page before one of N guarded blocks, or 0 for none",
              s.guards.before_one_of);
  // Whatever guards blocks without samples does so with them, too.
  if (s.sampling.every == 0 || s.exact || is_hardened || s.guards.one_of != 0)
    s.sampling.guard_one_of = 0;
  else
    s.guards.one_of = s.sampling.guard_one_of;
  s.faults = read_fault_settings(environment);
  if (s.full) s.faults.stack_depth = s.checks.stack_depth;
  return s;
}

}  // namespace ashlar::runtime
