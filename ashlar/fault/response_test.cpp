// Needs POSIX.

#include <tests/support/test_headers.hpp>

#include <ashlar/core/fault.hpp>

namespace {

using namespace ashlar;

TEST(FaultDeathTest, IsOneLineAndAnAbort) {
  const auto* address = reinterpret_cast<const void*>(0xbeef0);
  EXPECT_EXIT(ashlar_fault({.kind = fault_kind::double_free,
                            .call = "xfree",
                            .address = address,
                            .block_size = 48,
                            .pool = "orders"}),
              testing::KilledBySignal(SIGABRT),
              "^ashlar: xfree\\(0xbeef0\\): the block is free already \\(double free\\), "
              "pool 'orders', block size 48\n$");
  EXPECT_EXIT(ashlar_fault({.kind = fault_kind::corrupted, .call = "audit"}),
              testing::KilledBySignal(SIGABRT),
              "^ashlar: audit\\(0x0\\): an internal invariant does not hold\n$");
}

TEST(Report, IsTheSameLineAndReturns) {
  testing::internal::CaptureStderr();
  ashlar_report({.kind = fault_kind::leak, .call = "~pool", .block_size = 48, .blocks = 3});
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "ashlar: ~pool(0x0): the allocator ended with blocks in use, block size 48, blocks 3\n");
}

TEST(Report, IsALineWhateverTheNames) {
  const std::string name(500, 'x');
  testing::internal::CaptureStderr();
  ashlar_report({.kind = fault_kind::leak, .call = "~pool", .pool = name.c_str()});
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_GT(line.size(), 200u);
  EXPECT_EQ(line.find('\n'), line.size() - 1);

  testing::internal::CaptureStderr();
  ashlar_report({.kind = fault_kind::leak, .call = nullptr});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ashlar: (0x0): the allocator ended with blocks in use\n");
}

TEST(Report, KeepsErrno) {
  const int to_stderr = ::dup(STDERR_FILENO);
  ::close(STDERR_FILENO);
  errno = EDOM;
  ashlar_report({.kind = fault_kind::leak, .call = "~pool"});
  const int after = errno;
  ::dup2(to_stderr, STDERR_FILENO);
  ::close(to_stderr);
  EXPECT_EQ(after, EDOM);
}

}  // namespace
