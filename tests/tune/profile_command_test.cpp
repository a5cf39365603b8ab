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

class ProfileCommand : public CommandThatSays {
 protected:
  // Makes NAME.atrace and NAME.aprof.
  void make(const std::string& name, std::uint64_t seed) const {
    write_file(path(name + ".atrace"), some_trace(seed));
    done("tune profile " + name + ".atrace -o " + name + ".aprof");
  }
};

TEST_F(ProfileCommand, AProfileOfATraceTellsWhatItIsOf) {
  make("a", 1);
  const profile a = read_profile(path("a.aprof"));
  EXPECT_EQ(a.runs, 1u);
  EXPECT_GT(a.births(), 1000u);
  EXPECT_GT(a.deaths(), 500u);
  EXPECT_EQ(files().size(), 2u);
  has(done("tune profile a.atrace -o a.aprof"), "a.aprof: 1 run, 1,");
  EXPECT_EQ(read_profile(path("a.aprof")), a);
}

TEST_F(ProfileCommand, TracesTogetherAreTheirProfilesMergedToTheByte) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) make(std::to_string(seed), seed);
  done("tune profile -o traces 0.atrace 1.atrace 2.atrace 3.atrace");
  done("tune profile -o all 0.aprof 1.aprof 2.aprof 3.aprof");
  done("tune profile -o late 3.aprof 1.aprof");
  done("tune profile -o tree 0.aprof 2.aprof late");
  const std::string all = said("all");
  EXPECT_EQ(read_profile(path("all")).runs, 4u);
  EXPECT_EQ(said("traces"), all);
  EXPECT_EQ(said("tree"), all);

  write_file(path("in"), "3.aprof\n\n2.aprof\n1.aprof");
  done("tune profile -o listed 0.aprof --list -");
  EXPECT_EQ(said("listed"), all);

  // What is merged may be what is replaced.
  done("tune profile -o late 0.aprof 2.aprof late");
  EXPECT_EQ(said("late"), all);
}

TEST_F(ProfileCommand, ATraceThatWasCutIsProfiledUpToThereWithAWarning) {
  const std::string whole = some_trace(1);
  write_file(path("cut.atrace"), whole.substr(0, whole.size() - 7));
  has(done("tune profile cut.atrace -o cut.aprof"), "warning");
  EXPECT_EQ(read_profile(path("cut.aprof")).unfinished_runs, 1u);
}

TEST_F(ProfileCommand, BadInputIsNamedAndNothingIsWritten) {
  make("a", 1);
  const std::string was = said("a.aprof");
  std::string damaged = was;
  char& byte = damaged[damaged.size() / 2];
  byte = static_cast<char>(byte ^ 1);
  write_file(path("damaged"), damaged);
  write_file(path("empty"), "");
  write_file(path("other"), "hello\n");
  const std::string merge = "tune profile -o out ";
  expect_refused(merge + "a.aprof damaged", "damaged: at byte");
  expect_refused(merge + "a.aprof empty", "empty: at byte 0: the file is empty");
  expect_refused(merge + "a.aprof other", "other: at byte 0: this is no trace");
  expect_refused(merge + "a.aprof /nowhere/b.aprof", "/nowhere/b.aprof");
  expect_refused(merge + "--list -", "no trace or profile is named");
  expect_refused("tune profile a.aprof", "--output");
  expect_refused("tune profile a.aprof -o /nowhere/out", "/nowhere/out");
  expect_refused(merge + "other", "no trace");
  expect_refused("tune profile a.atrace -o a.atrace", "is no profile");
  expect_refused(merge, "no trace or profile");
  EXPECT_EQ(said("a.aprof"), was);
}

}  // namespace
