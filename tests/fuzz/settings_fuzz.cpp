// The environment's settings: what is read is what a second reading, written otherwise, says; each value that
// cannot be read is named in one line on standard error, and nothing else is written.
#include <charconv>
#include <csignal>
#include <optional>
#include <tests/fuzz/input.hpp>
#include <tests/fuzz/standard_error.hpp>
#include <tests/support/require.hpp>

#include <ashlar/runtime/settings.hpp>

namespace {

std::optional<std::string_view> value_of(const std::vector<std::string>& environment,
                                         std::string_view name) {
  for (const std::string_view entry : environment) {
    if (!entry.starts_with(name) || entry.substr(name.size(), 1) != "=") continue;
    const std::string_view value = entry.substr(name.size() + 1);
    return value.empty() ? std::nullopt : std::optional(value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  while (!text.empty() &&
         std::string_view(" \t\n\v\f\r").find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Returns: what `text` is, a number of bytes up to 2^40 with or without K, M or G, which "iB" may follow.
std::optional<std::int64_t> number_of_bytes(std::string_view text) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number > most) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  for (const auto& [unit, bytes] :
       {std::pair("K", 1 << 10), std::pair("M", 1 << 20), std::pair("G", 1 << 30)}) {
    if (text != unit && text != unit + std::string("iB")) continue;
    number *= static_cast<std::uint64_t>(bytes);
    text = {};
  }
  if (!text.empty() || number > most) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

/// Returns: the number of the signal that `text` names or tells; 0: none that a handler may have for this.
int number_of_signal(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  const std::pair<std::string_view, int> named[] = {
      {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},     {"QUIT", SIGQUIT},
      {"ALRM", SIGALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"URG", SIGURG}};
  for (const auto& [name, number] : named)
    if (text == name) return number;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return 0;
  return number > 0 && number <= SIGRTMAX && number != SIGKILL && number != SIGSTOP ? number : 0;
}

/// What the documentation and settings.hpp promise.
struct expectation {
  explicit expectation(const std::vector<std::string>& environment) {
    number(environment, "ASHLAR_PURGE_DELAY_MS", -1, delay_ms);
    number(environment, "ASHLAR_KEEP_BYTES", 0, keep_bytes);
    word(environment, "ASHLAR_BACKGROUND", "1", "0", background);
    one_of(environment, "ASHLAR_HUGE_PAGES", {"system", "never", "always"}, huge_pages);
    control(environment);
    word(environment, "ASHLAR_STATS", "exact", "batch", exact);
    check(environment);
    word(environment, "ASHLAR_HARDEN", "1", "0", harden);
    word(environment, "ASHLAR_HARDEN_SHUFFLE", "1", "0", shuffle);
    number(environment, "ASHLAR_CHECK_QUEUE_BYTES", 0, queue_bytes);
    number(environment, "ASHLAR_CHECK_STACK_DEPTH", 0, stack_depth);
    stack_depth = std::min<std::int64_t>(stack_depth, ashlar::os::call_stack::depth_max);
    if (full) guard = 128;
    if (harden && !exact) {
      guard = 8192;
      guard_slots = 256;
    }
    sampling(environment);
    if (sample_guard != 0) guard_slots = 256;
    number(environment, "ASHLAR_CHECK_GUARD", 0, guard);
    guard = std::min(guard, guard_most);
    number(environment, "ASHLAR_CHECK_GUARD_SLOTS", 1, guard_slots);
    number(environment, "ASHLAR_CHECK_GUARD_BEFORE", 0, guard_before);
    if (sample_every == 0 || exact || harden || guard != 0) {
      sample_guard = 0;
    } else {
      guard = sample_guard;
    }
    one_of(environment, "ASHLAR_FAULT", {"abort", "continue", "trap", "callback"}, fault_action);
    one_of(environment, "ASHLAR_FAULT_FORMAT", {"text", "json", "json-only"}, fault_form);
    file(environment, "ASHLAR_FAULT_FILE", has_file);
  }

  static constexpr std::int64_t guard_most = std::int64_t{1} << 30;

  std::int64_t delay_ms = 1000;
  std::int64_t keep_bytes = 0;
  std::int64_t queue_bytes =
      static_cast<std::int64_t>(ashlar::detail::full_check_options{}.queue_bytes);
  std::int64_t stack_depth = ashlar::detail::full_check_options{}.stack_depth;
  std::int64_t guard = 0;
  std::int64_t guard_slots = static_cast<std::int64_t>(ashlar::detail::guard_options{}.slots);
  std::int64_t guard_before =
      static_cast<std::int64_t>(ashlar::detail::guard_options{}.before_one_of);
  bool background = false, exact = false, full = false;
  bool harden = false, shuffle = false;
  std::size_t fault_action = 0, fault_form = 0, huge_pages = 0;  // the first words
  bool has_file = false;
  std::int64_t sample_every = 0, sample_interval_s = 0, sample_guard = 0;
  bool has_control = false, has_sample_file = false;
  int sample_signal = 0;
  std::vector<std::string_view> complaints;  // the names, in order

 private:
  void number(const std::vector<std::string>& environment, std::string_view name,
              std::int64_t least, std::int64_t& value) {
    const auto text = value_of(environment, name);
    if (!text) return;
    const auto read = whole_number(*text);
    if (read && *read >= least) {
      value = *read;
    } else {
      complaints.push_back(name);
    }
  }
  void check(const std::vector<std::string>& environment) {
    full = value_of(environment, "ASHLAR_CHECK") == "full";
    if (full) {
      exact = true;
    } else {
      word(environment, "ASHLAR_CHECK", "1", "0", exact);
    }
  }
  void control(const std::vector<std::string>& environment) {
    const auto where = value_of(environment, "ASHLAR_CONTROL");
    if (!where || *where == "0") return;
    has_control = *where == "1" || (where->find('/') != where->npos && where->size() <= 107);
    if (!has_control) complaints.push_back("ASHLAR_CONTROL");
  }
  void sampling(const std::vector<std::string>& environment) {
    if (const auto text = value_of(environment, "ASHLAR_SAMPLE")) {
      if (const auto bytes = number_of_bytes(*text)) {
        sample_every = *bytes;
      } else {
        complaints.push_back("ASHLAR_SAMPLE");
      }
    }
    file(environment, "ASHLAR_SAMPLE_FILE", has_sample_file);
    number(environment, "ASHLAR_SAMPLE_INTERVAL", 0, sample_interval_s);
    sample_interval_s = std::min<std::int64_t>(sample_interval_s, 1'000'000'000);
    number(environment, "ASHLAR_SAMPLE_GUARD", 0, sample_guard);
    sample_guard = std::min(sample_guard, guard_most);
    if (const auto text = value_of(environment, "ASHLAR_SAMPLE_SIGNAL")) {
      sample_signal = number_of_signal(*text);
      if (sample_signal == 0) complaints.push_back("ASHLAR_SAMPLE_SIGNAL");
    }
  }
  void file(const std::vector<std::string>& environment, std::string_view name, bool& is_named) {
    const auto path = value_of(environment, name);
    is_named = path && path->size() < 1024;
    if (path && !is_named) complaints.push_back(name);
  }
  void one_of(const std::vector<std::string>& environment, std::string_view name,
              const std::vector<std::string_view>& words, std::size_t& place) {
    const auto text = value_of(environment, name);
    if (!text) return;
    const auto found = std::find(words.begin(), words.end(), *text);
    if (found == words.end()) return complaints.push_back(name);
    place = static_cast<std::size_t>(found - words.begin());
  }
  void word(const std::vector<std::string>& environment, std::string_view name, std::string_view on,
            std::string_view off, bool& value) {
    const auto text = value_of(environment, name);
    if (!text) return;
    if (*text == on) {
      value = true;
    } else if (*text != off) {
      complaints.push_back(name);
    }
  }
};

std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> entries;
  for (;;) {
    const std::size_t end = text.find('\0');
    entries.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return entries;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> entries = entries_of(fuzz::input({data, size}).text());
  std::vector<char*> environment;
  for (std::string& entry : entries) environment.push_back(entry.data());
  environment.push_back(nullptr);

  std::string written;
  const ashlar::runtime::settings s = [&] {
    fuzz::caught_standard_error caught;
    errno = 77;
    const ashlar::runtime::settings read = ashlar::runtime::read_settings(environment.data());
    REQUIRE(errno == 77);
    written = caught.text();
    return read;
  }();

  const expectation expected(entries);
  REQUIRE(s.purge.delay_ms == expected.delay_ms);
  REQUIRE(s.purge.keep_bytes == static_cast<std::size_t>(expected.keep_bytes));
  REQUIRE(s.background == expected.background);
  REQUIRE(static_cast<std::size_t>(s.huge_pages) == expected.huge_pages);
  REQUIRE(s.exact == expected.exact);
  REQUIRE(s.full == expected.full);
  REQUIRE(s.harden == expected.harden && s.shuffle == expected.shuffle);
  REQUIRE(static_cast<std::size_t>(s.faults.action) == expected.fault_action);
  REQUIRE((s.control != nullptr) == expected.has_control);
  REQUIRE(s.sampling.every == static_cast<std::uint64_t>(expected.sample_every));
  REQUIRE((s.sampling.file != nullptr) == expected.has_sample_file);
  REQUIRE(s.sampling.interval_s == static_cast<std::uint64_t>(expected.sample_interval_s));
  REQUIRE(s.sampling.guard_one_of == static_cast<std::size_t>(expected.sample_guard));
  REQUIRE(s.sampling.signal == expected.sample_signal);
  REQUIRE(s.faults.json == (expected.fault_form != 0) &&
          (s.faults.file != nullptr) == expected.has_file);
  REQUIRE(s.checks.queue_bytes == static_cast<std::size_t>(expected.queue_bytes));
  REQUIRE(s.checks.stack_depth == static_cast<unsigned>(expected.stack_depth));
  REQUIRE(s.guards.one_of == static_cast<std::size_t>(expected.guard));
  REQUIRE(s.guards.slots == static_cast<std::size_t>(expected.guard_slots));
  REQUIRE(written.empty() == expected.complaints.empty());
  std::size_t at = 0;
  // A complaint that is longer than its line is cut, but never before the name.
  for (const std::string_view name : expected.complaints) {
    at = written.find("ashlar: " + std::string(name) + "=", at);
    REQUIRE(at != std::string::npos);
  }
  REQUIRE(written.empty() || written.back() == '\n');
  return 0;
}
