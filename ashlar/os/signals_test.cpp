// Signals by name and by number, and one that comes.
// Needs POSIX.
#include <csignal>

#include <gtest/gtest.h>

#include <ashlar/os/signals.hpp>

namespace {

using ashlar::os::signal_number;

TEST(Signals, HaveNamesAndNumbers) {
  EXPECT_EQ(signal_number("USR1"), SIGUSR1);
  EXPECT_EQ(signal_number("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(signal_number("12"), 12);
  for (const char* wrong :
       {"", "SIG", "usr1", "USR3", "0", "9", "19", "-1", "1x", "1000", "99999999999"})
    EXPECT_EQ(signal_number(wrong), 0) << wrong;
}

volatile std::sig_atomic_t seen = 0;

TEST(Signals, CallTheirFunction) {
  ASSERT_TRUE(ashlar::os::handle_signal(SIGUSR1, [](int number) { seen = number; }));
  ::raise(SIGUSR1);
  EXPECT_EQ(seen, SIGUSR1);
  ::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
