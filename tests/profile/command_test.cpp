// ashlar tune profile as a user meets it: arguments in; streams, files and exit status out.
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include "tools/profile/profile_file.hpp"
#include "tools/trace/writer.hpp"

namespace {

using namespace support;
using ashlar::profiling::profile;
using ashlar::profiling::read_profile;

/// Some thousand blocks of random sizes, of which some live on.
std::string some_trace(std::uint64_t seed) {
  using namespace ashlar::trace;
  std::string bytes;
  trace_header header;
  header.set(header_name::ticks_per_second, 1'000'000'000);
  trace_writer out([&](std::string_view more) { bytes += more; }, header);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> live;
  for (std::uint64_t n = 1; n <= 3000; ++n) {
    event e;
    e.thread = 1;
    e.time = n * 100;
    if (live.empty() || random() % 100 < 60) {
      e.kind = event_kind::by_malloc;
      e.size = random() % (n % 7 == 0 ? 100'000 : 900);
      e.address = n * 0x100000;
      live.push_back(e.address);
    } else {
      std::swap(live[random() % live.size()], live.back());
      e.kind = event_kind::from_free;
      e.address = live.back();
      live.pop_back();
    }
    out.add(e);
  }
  out.close();
  return bytes;
}

class ProfileCommand : public CommandByShell {
 protected:
  // Makes NAME.atrace and NAME.aprof.
  void make(const std::string& name, std::uint64_t seed) const {
    write_file(path(name + ".atrace"), some_trace(seed));
    const ended made =
        ashlar("tune profile " + path(name + ".atrace") + " -o " + path(name + ".aprof"), 0);
  }
};

TEST_F(ProfileCommand, AProfileOfATraceTellsWhatItIsOf) {
  make("a", 1);
  const profile a = read_profile(path("a.aprof"));
  EXPECT_EQ(a.runs, 1u);
  EXPECT_GT(a.births(), 1000u);
  EXPECT_GT(a.deaths(), 500u);
  EXPECT_EQ(count_files(), 2u);
  has(done("tune profile " + path("a.atrace") + " -o " + path("a.aprof"), 0), "a.aprof: 1 run, 1,");
  EXPECT_EQ(read_profile(path("a.aprof")), a);
}

TEST_F(ProfileCommand, TracesTogetherAreTheirProfilesMergedToTheByte) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) make(std::to_string(seed), seed);
  const auto in = [this](const std::string& names, const std::string& ending) {
    std::string words;
    for (const char name : names) words += " " + path(name + ending);
    return words;
  };
  done("tune profile -o " + path("traces") + in("0123", ".atrace"));
  done("tune profile -o " + path("all") + in("0123", ".aprof"));
  done("tune profile -o " + path("late") + in("31", ".aprof"));
  done("tune profile -o " + path("tree") + in("02", ".aprof") + " " + path("late"));
  const std::string all = read_file(path("all"));
  EXPECT_EQ(read_profile(path("all")).runs, 4u);
  EXPECT_EQ(read_file(path("traces")), all);
  EXPECT_EQ(read_file(path("tree")), all);

  write_file(path("names"), path("3.aprof") + "\n\n" + path("2.aprof") + "\n" + path("1.aprof"));
  const ended listed = ashlar(
      "tune profile -o " + path("listed") + in("0", ".aprof") + " --list - < " + path("names"), 0);
  EXPECT_EQ(read_file(path("listed")), all);

  // What is merged may be what is replaced.
  done("tune profile -o " + path("late") + in("02", ".aprof") + " " + path("late"));
  EXPECT_EQ(read_file(path("late")), all);
}

TEST_F(ProfileCommand, ATraceThatWasCutIsProfiledUpToThereWithAWarning) {
  const std::string whole = some_trace(1);
  write_file(path("cut.atrace"), whole.substr(0, whole.size() - 7));
  has(done("tune profile " + path("cut.atrace") + " -o " + path("cut.aprof"), 0), "warning");
  EXPECT_EQ(read_profile(path("cut.aprof")).unfinished_runs, 1u);
}

TEST_F(ProfileCommand, BadInputIsNamedAndNothingIsWritten) {
  make("a", 1);
  const std::string a = path("a.aprof");
  const std::string out = " -o " + path("out");
  const std::string was = read_file(a);
  std::string damaged = was;
  char& byte = damaged[damaged.size() / 2];
  byte = static_cast<char>(byte ^ 1);
  write_file(path("damaged"), damaged);
  write_file(path("empty"), "");
  write_file(path("other"), "hello\n");
  expect_refused("tune profile " + a + " " + path("damaged") + out, "damaged: at byte");
  expect_refused("tune profile " + a + " " + path("empty") + out,
                 "empty: at byte 0: the file is empty");
  expect_refused("tune profile " + a + " " + path("other") + out,
                 "other: at byte 0: this is no trace");
  expect_refused("tune profile " + a + " /nowhere/b.aprof" + out, "/nowhere/b.aprof");
  expect_refused("tune profile --list -" + out + " < /dev/null", "no trace or profile is named");
  expect_refused("tune profile " + a, "--output");
  expect_refused("tune profile " + a + " -o /nowhere/out", "/nowhere/out");
  expect_refused("tune profile " + path("other") + out, "no trace");
  expect_refused("tune profile " + path("a.atrace") + " -o " + path("a.atrace"), "is no profile");
  expect_refused("tune profile " + out, "no trace or profile");
  EXPECT_EQ(read_file(a), was);
}

}  // namespace
