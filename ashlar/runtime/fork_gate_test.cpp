#include <tests/support/test_headers.hpp>

#include <ashlar/runtime/fork_gate.hpp>

// That nobody is inside while another forks, in every order: tests/interleave/fork_gate_test.cpp.
namespace {

using ashlar::runtime::fork_gate;

constexpr auto not_at_all = [](unsigned) { return false; };

/// The gate tells one thread from others by what the C library says: so there is a second one.
class ForkGate : public testing::Test {
 protected:
  ForkGate() : other_([this] { done_.wait(false); }) {}
  ~ForkGate() override {
    done_ = true;
    done_.notify_all();
    other_.join();
  }

  fork_gate gate_;
  fork_gate::pass one_, two_;
  fork_gate::place place_one_, place_two_;

 private:
  std::atomic<bool> done_{false};
  std::thread other_;
};

/// What interrupts a call must not wait for its locks. What a call itself calls may come in.
TEST_F(ForkGate, AThreadInsideComesInAgainOnlyWhereItCallsOut) {
  ASSERT_TRUE(gate_.enter(one_));
  EXPECT_FALSE(gate_.enter(one_));
  EXPECT_FALSE(gate_.begin_look(one_));
  gate_.end_look(one_, false);
  {
    const fork_gate::calls_out others(one_);
    ASSERT_TRUE(gate_.enter(one_));
    EXPECT_FALSE(gate_.enter(one_));
    gate_.leave(one_);
  }
  EXPECT_FALSE(gate_.enter(one_));
  gate_.leave(one_);
  EXPECT_TRUE(gate_.enter(one_));
  gate_.leave(one_);
}

/// A signal handler interrupts a thread between its announcement and its look at the gate.
TEST_F(ForkGate, AHandlerLeavesEveryCountAsItFoundIt) {
  gate_.join(two_, place_two_);
  place_two_.announced = 1;  // as a thread does that is about to know whether it may come in
  ASSERT_TRUE(gate_.enter(two_));
  gate_.leave(two_);
  EXPECT_EQ(place_two_.announced, 1);
  unsigned rounds = 0;
  gate_.close(one_, [&](unsigned) {
    // That thread is let in, or finds the gate closed: in either case this one waits for it.
    EXPECT_FALSE(gate_.enter(two_));
    EXPECT_EQ(place_two_.announced, 1);
    if (++rounds == 3) place_two_.announced = 0;
    return true;
  });
  EXPECT_EQ(rounds, 3u);
  gate_.open(one_);
  gate_.quit(two_);
}

TEST_F(ForkGate, TheOwnerMayCloseItAgain) {
  gate_.close(one_, not_at_all);
  gate_.close(one_, not_at_all);
  gate_.open(one_);
  EXPECT_FALSE(gate_.enter(two_));
  gate_.open(one_);
  EXPECT_TRUE(gate_.enter(two_));
  gate_.leave(two_);
}

/// A handler that forks interrupted a call of thread two, which has a lock. Thread one has forked,
/// and waits for that lock before it opens.
TEST_F(ForkGate, AForkThatMayHoldLocksDoesNotWaitForAnotherForEver) {
  gate_.close(one_, not_at_all);
  unsigned rounds = 0;
  const auto some_rounds = [&rounds](unsigned) { return ++rounds < 5; };
  gate_.close(two_, some_rounds, true);
  EXPECT_EQ(rounds, 5u);
  gate_.open(two_);
  EXPECT_TRUE(gate_.enter(one_)) << "it was not its own";
  gate_.leave(one_);
  EXPECT_FALSE(gate_.enter(two_));
  EXPECT_FALSE(gate_.open_in_child(two_)) << "thread one may be in the middle of a change";
  EXPECT_TRUE(gate_.is_lost());
}

TEST_F(ForkGate, TheChildHasTheForkingThreadAlone) {
  ASSERT_TRUE(gate_.enter(two_));
  gate_.join(two_, place_two_);
  gate_.leave(two_);
  gate_.close(one_, not_at_all);
  EXPECT_TRUE(gate_.open_in_child(one_));
  EXPECT_FALSE(gate_.is_lost());
  // The other thread's place is forgotten: nobody looks at it any more.
  place_two_.announced = 1;
  gate_.close(one_, not_at_all);
  EXPECT_TRUE(gate_.open_in_child(one_));
}

TEST_F(ForkGate, AHeapWithAThreadInsideIsLostInTheChild) {
  ASSERT_TRUE(gate_.enter(two_));
  gate_.close(one_, not_at_all);
  EXPECT_FALSE(gate_.open_in_child(one_));
  EXPECT_TRUE(gate_.is_lost());
  EXPECT_FALSE(gate_.enter(one_));
  // It stays so, in its children, too.
  gate_.close(one_, not_at_all);
  gate_.open(one_);
  EXPECT_FALSE(gate_.enter(one_));
  gate_.close(one_, not_at_all);
  EXPECT_FALSE(gate_.open_in_child(one_));
}

TEST_F(ForkGate, AThreadThatForksInsideWaitsForTheOthersOnly) {
  for (const bool joins : {false, true}) {
    ASSERT_TRUE(gate_.enter(one_));
    if (joins) gate_.join(one_, place_one_);
    gate_.close(one_, not_at_all);
    EXPECT_TRUE(gate_.open_in_child(one_)) << joins;
    // The handler's own calls stay outside, for as long as the interrupted call goes on.
    EXPECT_FALSE(gate_.enter(one_));
    EXPECT_FALSE(gate_.begin_look(one_));
    gate_.end_look(one_, false);
    gate_.leave(one_);
    EXPECT_TRUE(gate_.enter(one_));
    gate_.leave(one_);
  }
  gate_.quit(one_);
}

TEST_F(ForkGate, ALookIsAlwaysPossible) {
  EXPECT_TRUE(gate_.begin_look(two_));
  gate_.end_look(two_, true);
  gate_.close(one_, not_at_all);
  EXPECT_FALSE(gate_.begin_look(two_));
  EXPECT_TRUE(gate_.begin_look(one_));
  gate_.end_look(one_, true);
  // A thread that forks in the middle of a call cannot know whose lock it finds: so the heap is
  // lost.
  ASSERT_TRUE(gate_.enter(one_));
  EXPECT_FALSE(gate_.open_in_child(one_));
}

}  // namespace
