// The environment, good and bad.
// Needs Linux.

#include <tests/support/test_headers.hpp>

#include <ashlar/runtime/settings.hpp>

namespace {

using ashlar::runtime::read_settings;
using ashlar::runtime::settings;

class Settings : public testing::Test {
 protected:
  /// Returns: the settings of an environment of these entries; what is said of them is in
  /// `complaint`.
  settings from(std::vector<std::string> entries) {
    environment = std::move(entries);
    std::vector<char*> pointers;
    for (std::string& entry : environment) pointers.push_back(entry.data());
    pointers.push_back(nullptr);
    testing::internal::CaptureStderr();
    errno = 1234;
    const settings s = read_settings(pointers.data());
    EXPECT_EQ(errno, 1234);
    complaint = testing::internal::GetCapturedStderr();
    return s;
  }
  /// Returns: the settings of an environment of this entry, a good one.
  settings with(const std::string& name, const std::string& value) {
    const settings s = from({name + '=' + value});
    EXPECT_EQ(complaint, "") << name << '=' << value;
    return s;
  }

  std::vector<std::string> environment;  // the settings name files in it
  std::string complaint;
};

TEST_F(Settings, DefaultsStandWhereNothingIsSaid) {
  const settings s = from({});
  EXPECT_EQ(s.purge.delay_ms, 1000);
  EXPECT_EQ(s.purge.keep_bytes, 0u);
  EXPECT_FALSE(s.exact);
  EXPECT_FALSE(s.background);
  EXPECT_EQ(s.sampling.every, 0u);
  EXPECT_EQ(s.limit_bytes, 0u);
  EXPECT_FALSE(s.ends_at_limit);
}

TEST_F(Settings, GoodValuesAreTakenInSilence) {
  EXPECT_EQ(with("ASHLAR_PURGE_DELAY_MS", "0").purge.delay_ms, 0);
  EXPECT_EQ(with("ASHLAR_PURGE_DELAY_MS", "-1").purge.delay_ms, -1);
  EXPECT_EQ(with("ASHLAR_PURGE_DELAY_MS", "250").purge.delay_ms, 250);
  EXPECT_EQ(with("ASHLAR_KEEP_BYTES", "8388608").purge.keep_bytes, 8'388'608u);
  EXPECT_EQ(with("ASHLAR_KEEP_BYTES", "9223372036854775807").purge.keep_bytes,
            static_cast<std::size_t>(INT64_MAX));
  EXPECT_TRUE(with("ASHLAR_STATS", "exact").exact);
  EXPECT_FALSE(with("ASHLAR_STATS", "batch").exact);
  EXPECT_TRUE(with("ASHLAR_BACKGROUND", "1").background);
  EXPECT_FALSE(with("ASHLAR_BACKGROUND", "0").background);
  using ashlar::os::huge_pages;
  EXPECT_EQ(with("ASHLAR_HUGE_PAGES", "never").huge_pages, huge_pages::never);
  EXPECT_EQ(with("ASHLAR_HUGE_PAGES", "always").huge_pages, huge_pages::always);
  EXPECT_EQ(with("ASHLAR_HUGE_PAGES", "system").huge_pages, huge_pages::as_the_system_says);
}

/// Returns: what the values of these tests are for.
std::string shown(const settings& s) {
  std::ostringstream text;
  for (const auto value :
       {s.purge.delay_ms, static_cast<std::int64_t>(s.purge.keep_bytes), std::int64_t{s.exact},
        std::int64_t{s.background}, static_cast<std::int64_t>(s.huge_pages),
        static_cast<std::int64_t>(s.sampling.every), std::int64_t{s.sampling.signal},
        static_cast<std::int64_t>(s.limit_bytes), std::int64_t{s.ends_at_limit},
        static_cast<std::int64_t>(s.guards.one_of), static_cast<std::int64_t>(s.guards.slots)})
    text << value << ' ';
  return text.str();
}

TEST_F(Settings, BadValuesAreReportedInOneLineAndTheDefaultStands) {
  const struct {
    const char* name;
    std::vector<std::string> values;
    const char* expected;
  } rows[] = {
      {"ASHLAR_PURGE_DELAY_MS",
       {"soon", "10ms", "-2", "1.5", "0x10", "99999999999999999999", " "},
       "milliseconds, 0 or -1"},
      {"ASHLAR_KEEP_BYTES", {"-1", "1M", "many"}, "a number of bytes"},
      {"ASHLAR_BACKGROUND", {"yes", "2", "01", "1 "}, "0 or 1"},
      {"ASHLAR_HUGE_PAGES", {"1", "auto", "Never"}, "system, never or always"},
      {"ASHLAR_STATS", {"Exact", "1", "exactly"}, "batch or exact"},
      {"ASHLAR_SAMPLE",
       {"K", "yes", "-1", "512k", "512KB", "512 K", "1.5M", "1025G", "99999999999999999999",
        "18446744073709551616"},
       "a number of bytes such as 512K, to sample one of so many, or 0 for none"},
      {"ASHLAR_SAMPLE_SIGNAL",
       {"KILL"},
       "USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG or a signal's number"},
      {"ASHLAR_LIMIT", {"0%"}, "bytes such as 512M, a percentage such as 90%, or 0 for none"},
      {"ASHLAR_LIMIT_ACTION", {"abort"}, "fail or end"},
      {"ASHLAR_CHECK_GUARD", {"-1"}, "N, to guard one of N blocks, or 0 for none"},
      {"ASHLAR_CHECK_GUARD_SLOTS", {"0"}, "a number of blocks"},
      {"ASHLAR_CHECK_GUARD_BEFORE", {}, ""},
      {"ASHLAR_SAMPLE_FILE", {}, ""},
      {"ASHLAR_SAMPLE_INTERVAL", {}, ""},
      {"ASHLAR_SAMPLE_GUARD", {}, ""},
  };
  const std::string defaults = shown(from({}));
  for (const auto& [name, values, expected] : rows) {
    EXPECT_EQ(shown(with(name, "")), defaults) << "as if it were not there";
    for (const std::string& value : values) {
      const std::string entry = std::string(name) + '=' + value;
      EXPECT_EQ(shown(from({entry})), defaults) << entry;
      EXPECT_EQ(complaint, "ashlar: " + entry + " is ignored: expected " + expected + '\n');
    }
  }
}

TEST_F(Settings, OneOfSoManyBytesIsSampled) {
  EXPECT_EQ(with("ASHLAR_SAMPLE", "524288").sampling.every, 524288u);
  EXPECT_EQ(with("ASHLAR_SAMPLE", "512K").sampling.every, 524288u);
  EXPECT_EQ(with("ASHLAR_SAMPLE", "2MiB").sampling.every, 2u << 20);
  EXPECT_EQ(with("ASHLAR_SAMPLE", "1024G").sampling.every, std::uint64_t{1} << 40);
  EXPECT_EQ(with("ASHLAR_SAMPLE", "0").sampling.every, 0u);
}

TEST_F(Settings, ALimitAndWhatFollowsAtIt) {
  EXPECT_EQ(with("ASHLAR_LIMIT", "512M").limit_bytes, 512u << 20);
  EXPECT_TRUE(with("ASHLAR_LIMIT_ACTION", "end").ends_at_limit);
  EXPECT_FALSE(with("ASHLAR_LIMIT_ACTION", "fail").ends_at_limit);
}

TEST_F(Settings, ProfilesAreWrittenWhenTheEnvironmentSays) {
  EXPECT_EQ(with("ASHLAR_SAMPLE_SIGNAL", "USR2").sampling.signal, SIGUSR2);
  EXPECT_EQ(with("ASHLAR_SAMPLE_INTERVAL", "60").sampling.interval_s, 60u);
  EXPECT_STREQ(with("ASHLAR_SAMPLE_FILE", "/tmp/a").sampling.file, "/tmp/a");
}

TEST_F(Settings, SamplesAreGuardedWhereNothingElseGuards) {
  settings s = from({"ASHLAR_SAMPLE=512K", "ASHLAR_SAMPLE_GUARD=1000"});
  EXPECT_EQ(s.sampling.guard_one_of, 1000u);
  EXPECT_EQ(s.guards.one_of, 1000u);
  s = from({"ASHLAR_SAMPLE=512K", "ASHLAR_CHECK_GUARD=10", "ASHLAR_SAMPLE_GUARD=1000"});
  EXPECT_EQ(s.sampling.guard_one_of, 0u);
  EXPECT_EQ(s.guards.one_of, 10u);
}

TEST_F(Settings, FaultsAreAnsweredAndToldAsTheEnvironmentSays) {
  using ashlar::detail::fault_action;
  const settings defaults = from({});
  EXPECT_EQ(defaults.faults.action, fault_action::abort);
  EXPECT_FALSE(defaults.faults.json);
  EXPECT_EQ(defaults.faults.file, nullptr);
  EXPECT_EQ(with("ASHLAR_FAULT", "abort").faults.action, fault_action::abort);
  EXPECT_EQ(with("ASHLAR_FAULT", "continue").faults.action, fault_action::go_on);
  EXPECT_EQ(with("ASHLAR_FAULT", "trap").faults.action, fault_action::trap);
  EXPECT_EQ(with("ASHLAR_FAULT", "callback").faults.action, fault_action::callback);
  EXPECT_TRUE(with("ASHLAR_FAULT_FORMAT", "json").faults.json);
  EXPECT_FALSE(with("ASHLAR_FAULT_FORMAT", "json").faults.in_file_alone);
  EXPECT_TRUE(with("ASHLAR_FAULT_FORMAT", "json-only").faults.in_file_alone);
  EXPECT_FALSE(with("ASHLAR_FAULT_FORMAT", "text").faults.json);
  const std::string longest(ashlar::detail::fault_path_max - 1, 'x');
  EXPECT_NE(with("ASHLAR_FAULT_FILE", longest).faults.file, nullptr);
}

TEST_F(Settings, AWrongValueOfAnyLengthIsNamedWithTheRightOnes) {
  const std::string value(5000, 'x');
  EXPECT_EQ(from({"ASHLAR_FAULT=" + value}).faults.action, ashlar::detail::fault_action::abort);
  EXPECT_TRUE(complaint.ends_with(" is ignored: expected abort, continue, trap or callback\n"))
      << complaint;
  EXPECT_EQ(from({"ASHLAR_FAULT_FILE=" + value}).faults.file, nullptr);
  EXPECT_TRUE(complaint.ends_with(" is ignored: expected a path of at most 1023 bytes\n"))
      << complaint;
}

TEST_F(Settings, AreReadFromTheEnvironmentThatIsPassed) {
  ::setenv("ASHLAR_STATS", "exact", 1);
  settings s = from({});
  ::unsetenv("ASHLAR_STATS");
  EXPECT_FALSE(s.exact);
  s = from({"PATH=/", "ASHLAR_KEEP_BYTES=4096", "ASHLAR_PURGE_DELAY_MS=5", "ASHLAR_STATS=exact"});
  EXPECT_EQ(s.purge.keep_bytes, 4096u);
  EXPECT_EQ(s.purge.delay_ms, 5);
  EXPECT_TRUE(s.exact);
}

TEST_F(Settings, ANameMatchesWholeOrNotAtAll) {
  const settings s = from({"ASHLAR_STATSX=exact", "ASHLAR_STAT=exact", "XASHLAR_STATS=exact",
                           "ASHLAR_STATS", "", "=", "ashlar_stats=exact", "ASHLAR_KEEP_BYTE=5",
                           "ASHLAR_KEEP_BYTES_=5", "ASHLAR_PURGE_DELAY_MS="});
  EXPECT_EQ(complaint, "");
  EXPECT_FALSE(s.exact);
  EXPECT_EQ(s.purge.keep_bytes, 0u);
  EXPECT_EQ(s.purge.delay_ms, 1000);
}

TEST_F(Settings, GuardedBlocksAreOfFullChecksOrAskedFor) {
  EXPECT_EQ(from({}).guards.one_of, 0u);
  EXPECT_EQ(from({"ASHLAR_CHECK=1"}).guards.one_of, 0u);
  EXPECT_EQ(from({"ASHLAR_CHECK=full"}).guards.one_of, 128u);
  EXPECT_TRUE(from({"ASHLAR_CHECK=full"}).guards.fills);
  EXPECT_EQ(from({"ASHLAR_CHECK=full", "ASHLAR_CHECK_GUARD=0"}).guards.one_of, 0u);
  const settings s = from(
      {"ASHLAR_CHECK_GUARD=1000", "ASHLAR_CHECK_GUARD_SLOTS=50", "ASHLAR_CHECK_STACK_DEPTH=3"});
  EXPECT_FALSE(s.exact) << "alone they count nothing";
  EXPECT_FALSE(s.guards.fills);
  EXPECT_EQ(s.guards.one_of, 1000u);
  EXPECT_EQ(s.guards.slots, 50u);
  EXPECT_EQ(s.guards.stack_depth, 3u);
  EXPECT_EQ(from({"ASHLAR_CHECK_GUARD=9223372036854775807"}).guards.one_of, std::size_t{1} << 30);
  EXPECT_EQ(from({}).guards.before_one_of, 4u);
  EXPECT_EQ(with("ASHLAR_CHECK_GUARD_BEFORE", "0").guards.before_one_of, 0u);
  EXPECT_EQ(with("ASHLAR_CHECK_GUARD_BEFORE", "7").guards.before_one_of, 7u);
}

TEST_F(Settings, TheFirstOfTwoEntriesCounts) {
  EXPECT_EQ(from({"ASHLAR_KEEP_BYTES=1", "ASHLAR_KEEP_BYTES=2"}).purge.keep_bytes, 1u);
}

}  // namespace
