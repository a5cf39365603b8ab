// Control groups as files that the test writes: this reads what systems with version 1, version 2,
// both or neither have, wherever this machine stands. Needs POSIX.

#include <tests/support/test_headers.hpp>

#include <ashlar/os/memory_pressure.hpp>

namespace {

using ashlar::os::memory_group;
using ashlar::os::memory_pressure;
using ashlar::os::pressure_watch;

class MemoryGroup : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "ashlar-groups-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  /// Returns: what the group tells; whether it tells anything in `is_told`.
  memory_pressure read() {
    memory_pressure p;
    errno = 1234;
    is_told = memory_group(root.c_str()).read(p);
    EXPECT_EQ(errno, 1234);
    return p;
  }

  std::string root;
  bool is_told = false;
};

TEST_F(MemoryGroup, NothingReadableTellsNothing) {
  static_cast<void>(read());
  EXPECT_FALSE(is_told);
  for (const char* list :
       {"", "\n", "0::/\n", "0::/a\n3:memory:/b\n", "3:memory", ":::", "x\n:\n"}) {
    write("/proc/self/cgroup", list);
    static_cast<void>(read());
    EXPECT_FALSE(is_told) << list;
  }
}

TEST_F(MemoryGroup, VersionTwo) {
  write("/proc/self/cgroup", "0::/app/one\n");
  const std::string group = "/sys/fs/cgroup/app/one/";
  write(group + "memory.current", "1000\n");
  memory_pressure p = read();
  ASSERT_TRUE(is_told);
  EXPECT_EQ(std::tuple(p.used_bytes, p.limit_bytes, p.limit_hits, p.stalled_us),
            std::tuple(1000u, UINT64_MAX, 0u, 0u));
  write(group + "memory.high", "max\n");
  write(group + "memory.max", "5000\n");
  EXPECT_EQ(read().limit_bytes, 5000u);
  write(group + "memory.high", "4000\n");
  EXPECT_EQ(read().limit_bytes, 4000u);
  write(group + "memory.events", "low 9\nhigh 3\nmax 4\noom 5\noom_kill 6\n");
  EXPECT_EQ(read().limit_hits, 7u);
  write(group + "memory.pressure",
        "some avg10=1.00 avg60=2.00 avg300=3.00 total=456\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=78\n");
  EXPECT_EQ(read().stalled_us, 456u);
}

TEST_F(MemoryGroup, VersionOne) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/app\n1:name=systemd:/\n0::/\n");
  const std::string group = "/sys/fs/cgroup/memory/app/";
  write(group + "memory.usage_in_bytes", "173666304\n");
  write(group + "memory.limit_in_bytes", "9223372036854771712\n");
  write(group + "memory.failcnt", "12\n");
  const memory_pressure p = read();
  ASSERT_TRUE(is_told);
  EXPECT_EQ(std::tuple(p.used_bytes, p.limit_bytes, p.limit_hits),
            std::tuple(173'666'304u, 9'223'372'036'854'771'712u, 12u));
}

TEST_F(MemoryGroup, AControllerThatOnlyBeginsLikeMemoryIsNotIt) {
  write("/proc/self/cgroup", "4:memorylike:/app\n");
  write("/sys/fs/cgroup/memory/app/memory.usage_in_bytes", "1\n");
  static_cast<void>(read());
  EXPECT_FALSE(is_told);
}

TEST_F(MemoryGroup, AContainerSeesItsGroupAtTheMount) {
  write("/proc/self/cgroup", "4:memory:/docker/0123\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "77\n");
  EXPECT_EQ(read().used_bytes, 77u);
  ASSERT_TRUE(is_told);
}

TEST_F(MemoryGroup, BothVersionsTheOneWithMemoryCounts) {
  write("/proc/self/cgroup", "4:memory:/a\n0::/b\n");
  write("/sys/fs/cgroup/unified/b/memory.current", "2\n");
  EXPECT_EQ(read().used_bytes, 2u);
  ASSERT_TRUE(is_told);
  write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(read().used_bytes, 1u);
}

TEST_F(MemoryGroup, WhatCannotBeReadStaysAsItWas) {
  write("/proc/self/cgroup", "0::/a\n");
  const std::string group = "/sys/fs/cgroup/a/";
  write(group + "memory.current", "1000\n");
  for (const std::string text : {"", "-1\n", "many\n", "max\n"}) {
    write(group + "memory.max", text);
    EXPECT_EQ(read().limit_bytes, UINT64_MAX) << text;
  }
  write(group + "memory.max", "99999999999999999999999\n");
  EXPECT_EQ(read().limit_bytes, UINT64_MAX);
  for (const std::string text : {"", "high\n", "high x\n", "highest 5\n", "\n\n\n"}) {
    write(group + "memory.events", text);
    EXPECT_EQ(read().limit_hits, 0u) << text;
  }
  for (const std::string text : {"some total\nfull total=5\n", "some\n", "full total=5\n"}) {
    write(group + "memory.pressure", text);
    EXPECT_EQ(read().stalled_us, 0u) << text;
  }
}

TEST_F(MemoryGroup, TheHardLimitIsTheLeastOfTheGroupsAround) {
  const auto limit = [&] { return memory_group(root.c_str()).hard_limit(); };
  EXPECT_EQ(limit(), UINT64_MAX);
  write("/proc/self/cgroup", "0::/app/one/two\n");
  const std::string mount = "/sys/fs/cgroup";
  write(mount + "/app/one/two/memory.current", "1000\n");
  write(mount + "/app/one/two/memory.high", "10\n");  // it slows down, and refuses nothing
  EXPECT_EQ(limit(), UINT64_MAX);
  write(mount + "/memory.max", "9000\n");
  EXPECT_EQ(limit(), 9000u);
  write(mount + "/app/one/memory.max", "5000\n");
  write(mount + "/app/one/two/memory.max", "max\n");
  EXPECT_EQ(limit(), 5000u);
  write(mount + "/app/one/two/memory.max", "7000\n");
  EXPECT_EQ(limit(), 5000u);
  write("/sys/fs/memory.max", "1\n");  // outside of the mount
  EXPECT_EQ(limit(), 5000u);
  // A group that leaves memory to the one around it.
  write("/proc/self/cgroup", "0::/app/one/two/three/four\n");
  EXPECT_EQ(limit(), 5000u);
  EXPECT_EQ(read().used_bytes, 1000u);
  // Version 1, and its number for none.
  write("/proc/self/cgroup", "4:memory:/app\n");
  write("/sys/fs/cgroup/memory/app/memory.usage_in_bytes", "1\n");
  write("/sys/fs/cgroup/memory/app/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), UINT64_MAX);
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "8000\n");
  EXPECT_EQ(limit(), 8000u);
}

TEST_F(MemoryGroup, ANameThatIsTooLongTellsNothing) {
  const std::string name(600, 'n');
  write("/proc/self/cgroup", "0::/" + name + "\n");
  static_cast<void>(read());
  EXPECT_FALSE(is_told);
  write("/proc/self/cgroup", "0::/" + std::string(20'000, 'n') + "\n");
  static_cast<void>(read());
  EXPECT_FALSE(is_told);
}

// ---- when the figures say that memory is short ----------------------------------------

TEST(PressureWatch, LittleLeftIsShortAtOnce) {
  pressure_watch w;
  memory_pressure p{.used_bytes = 1'500, .limit_bytes = 1'600};
  EXPECT_FALSE(w.is_short(p, 1'000)) << "a sixteenth is left";
  p.used_bytes = 1'501;
  EXPECT_TRUE(w.is_short(p, 1'500));
  EXPECT_TRUE(pressure_watch().is_short(p, 0));
  p.used_bytes = 2'000;
  EXPECT_TRUE(w.is_short(p, 2'000)) << "beyond the limit (memory.high can be passed)";
  p.used_bytes = 10;
  EXPECT_FALSE(w.is_short(p, 2'500));
}

TEST(PressureWatch, NoLimitNeverRunsShort) {
  pressure_watch w;
  memory_pressure p;
  p.used_bytes = std::uint64_t{1} << 50;
  EXPECT_FALSE(w.is_short(p, 0));
  EXPECT_FALSE(w.is_short(p, 1'000));
}

TEST(PressureWatch, HitsOfTheLimitCountFromTheFirstLookOn) {
  pressure_watch w;
  memory_pressure p{.limit_hits = 7};
  EXPECT_FALSE(w.is_short(p, 0)) << "what was before the first look is past";
  EXPECT_FALSE(w.is_short(p, 500));
  p.limit_hits = 8;
  EXPECT_TRUE(w.is_short(p, 1'000));
  EXPECT_FALSE(w.is_short(p, 1'500));
  p.limit_hits = 0;  // the group is another one
  EXPECT_FALSE(w.is_short(p, 2'000));
}

TEST(PressureWatch, WaitingForATenthOfTheTimeIsShort) {
  pressure_watch w;
  memory_pressure p{.stalled_us = 5'000'000};
  EXPECT_FALSE(w.is_short(p, 10'000));
  p.stalled_us += 49'999;
  EXPECT_FALSE(w.is_short(p, 10'500));
  p.stalled_us += 50'000;
  EXPECT_TRUE(w.is_short(p, 11'000));
  EXPECT_FALSE(w.is_short(p, 11'000)) << "no time passed, and nothing was waited for";
}

}  // namespace
