// The locks in every order of their accesses: one owner at a time, who sees what the last one wrote; nobody waits for ever.
#include <tests/interleave/model_std.hpp>
// first of all
#include <tests/interleave/model_threads.hpp>
// and that
#include <cstdint>
#include <cstdio>
#include <optional>

#include <gtest/gtest.h>
#include <linux/futex.h>

#include <ashlar/core/lock_policy.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_call.hpp>

char interleave::single_threaded = 0;

namespace {

/// What Linux does, of what os::mutex asks it for.
long model_futex(long, ashlar::std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
                 const void*, const void*, int) noexcept {
  interleave::before(word, interleave::access::write);
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
    interleave::wake_one(word);
  } else if (word->value() == value) {
    interleave::sleep_at(word);
  }
  return 0;
}

}  // namespace

// The source itself, its one system call led to the model's.
#define system_call(...) model_futex(__VA_ARGS__)
#include <ashlar/os/mutex_linux.cpp>  // NOLINT
#undef system_call

namespace {

/// Each thread takes the lock `rounds` times; thread 0 only tries, if `tries`.
template <class Lock>
struct lock_program {
  void begin() { w.emplace(); }
  void thread(unsigned self) {
    for (int round = 0; round < rounds; ++round) {
      if (tries && self == 0) {
        if (!w->lock.try_lock()) continue;
      } else {
        w->lock.lock();
      }
      w->count.write(w->count.read() + 1);
      ++w->taken;
      w->lock.unlock();
    }
  }
  void end() {
    interleave::require(w->count.read() == w->taken, "two owners at one time");
    interleave::require(w->lock.try_lock(), "the lock is still held");
  }
  interleave::outcome explore(unsigned threads, const interleave::limits& bounds = {}) {
    return interleave::explore(
        threads, {[this] { begin(); }, [this](unsigned t) { thread(t); }, [this] { end(); }},
        bounds);
  }

  struct world {
    Lock lock;
    interleave::plain<int> count;
    int taken = 0;
  };
  int rounds;
  bool tries;
  std::optional<world> w = {};
};

template <class Lock>
void expect_sound(int rounds, bool tries, unsigned threads, const interleave::limits& bounds = {}) {
  const auto seen = lock_program<Lock>{rounds, tries}.explore(threads, bounds);
  EXPECT_EQ(seen.failure, "");
  std::printf("%llu executions\n", static_cast<unsigned long long>(seen.executions));
}

TEST(SpinLock, TwoThreadsInEveryOrder) {
  expect_sound<ashlar::spin_lock>(3, false, 2);
  expect_sound<ashlar::spin_lock>(3, true, 2);
}
TEST(SpinLock, ThreeThreads) {
  expect_sound<ashlar::spin_lock>(1, false, 3);
  expect_sound<ashlar::spin_lock>(2, false, 3, {.preemptions = 3});
}
TEST(OsMutex, TwoThreadsInEveryOrder) {
  expect_sound<ashlar::os::mutex>(2, false, 2);
  expect_sound<ashlar::os::mutex>(2, true, 2);
}
TEST(OsMutex, ThreeThreads) { expect_sound<ashlar::os::mutex>(1, false, 3, {.preemptions = 4}); }

/// A process that begins with thread 0 alone. It starts the others in its first round, after `starts_after` steps: before
/// it takes the lock, while it holds it, or after it gave it back.
struct starting_program {
  void begin() {
    interleave::single_threaded = 1;
    w.emplace();
  }
  void step(int& done) {
    if (done++ != starts_after) return;
    interleave::single_threaded = 0;  // as the C library does: first the word, then the thread
    w->started.store(true, std::memory_order_release);
  }
  void thread(unsigned self) {
    int steps = 0;
    while (self != 0 && !w->started.load(std::memory_order_acquire)) {
    }
    for (int round = 0; round < 2; ++round) {
      if (self == 0) step(steps);
      w->lock.lock();
      if (self == 0) step(steps);
      w->count.write(w->count.read() + 1);
      w->lock.unlock();
      if (self == 0) step(steps);
    }
  }
  void end() {
    interleave::single_threaded = 0;
    interleave::require(w->lock.try_lock(), "the lock is still held");
  }
  std::string explore(unsigned threads, const interleave::limits& bounds = {}) {
    const auto seen = interleave::explore(
        threads, {[this] { begin(); }, [this](unsigned t) { thread(t); }, [this] { end(); }},
        bounds);
    std::printf("%llu executions\n", static_cast<unsigned long long>(seen.executions));
    return seen.failure;
  }

  struct world {
    ashlar::os::mutex lock;
    ashlar::std::atomic<bool> started{false};
    interleave::plain<int> count;
  };
  int starts_after;
  std::optional<world> w = {};
};

TEST(OsMutex, TheFirstThreadStartsAtAnyMoment) {
  for (int step = 0; step < 6; ++step) {
    EXPECT_EQ(starting_program{step}.explore(2), "") << step;
    EXPECT_EQ(starting_program{step}.explore(3, {.preemptions = 3}), "") << step;
  }
}
TEST(OsMutex, IsHeldByOneThreadThatIsAlone) {
  interleave::single_threaded = 1;
  ashlar::os::mutex lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  lock.lock();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  interleave::single_threaded = 0;
}

/// What the scheduler must find: a thread that starts others and still believes that it is alone.
TEST(OsMutex, NeedsToKnowOfTheOtherThreads) {
  struct unaware_program : starting_program {
    std::string explore() {
      return interleave::explore(2, {[this] { begin(); },
                                     [this](unsigned t) {
                                       if (t == 0) w->started.store(true);
                                       thread(t);
                                     },
                                     [this] { end(); }})
          .failure;
    }
  };
  EXPECT_NE((unaware_program{{.starts_after = -1}}.explore()), "");
}

/// What the scheduler must find: a lock whose two steps are not one.
struct broken_lock {
  void lock() noexcept {
    while (held.load(std::memory_order_acquire)) {
    }
    held.store(true, std::memory_order_relaxed);
  }
  bool try_lock() noexcept { return !held.load(); }
  void unlock() noexcept { held.store(false, std::memory_order_release); }
  ashlar::std::atomic<bool> held{false};
};
/// And one that orders nothing: it excludes, but what it guards is a data race.
struct relaxed_lock {
  void lock() noexcept {
    while (held.exchange(true, std::memory_order_relaxed)) {
      while (held.load(std::memory_order_relaxed)) {
      }
    }
  }
  bool try_lock() noexcept { return !held.exchange(true); }
  void unlock() noexcept { held.store(false, std::memory_order_relaxed); }
  ashlar::std::atomic<bool> held{false};
};
/// And one that forgets to wake.
struct sleepy_lock {
  void lock() noexcept {
    interleave::before(this, interleave::access::write);
    if (held.exchange(true)) interleave::sleep_at(this);
  }
  bool try_lock() noexcept { return !held.exchange(true); }
  void unlock() noexcept { held.store(false); }
  ashlar::std::atomic<bool> held{false};
};

/// And one that changes what it waits for, again and again.
struct restless_lock {
  void lock() noexcept {
    while (held.exchange(++tries) != 0) {
    }
  }
  bool try_lock() noexcept { return held.exchange(1) == 0; }
  void unlock() noexcept { held.store(0); }
  ashlar::std::atomic<int> held{0};
  int tries = 0;
};

TEST(Scheduler, FindsTwoOwnersDataRacesDeadlocksAndLoopsWithoutEnd) {
  const std::string owners = lock_program<broken_lock>{1, false}.explore(2).failure;
  EXPECT_NE(owners, "");
  const std::string race = lock_program<relaxed_lock>{1, false}.explore(2).failure;
  EXPECT_NE(race.find("data race"), std::string::npos) << race;
  const std::string stuck = lock_program<sleepy_lock>{1, false}.explore(2).failure;
  EXPECT_NE(stuck.find("deadlock"), std::string::npos) << stuck;
  const std::string restless = lock_program<restless_lock>{1, false}.explore(2).failure;
  EXPECT_NE(restless.find("no end"), std::string::npos) << restless;
}

/// Two threads of two independent writes and one that meets: as many orders as there are, no more, no fewer.
TEST(Scheduler, CountsTheOrdersThatDiffer) {
  ashlar::std::atomic<int> mine[2] = {};
  ashlar::std::atomic<int> ours = 0;
  const auto count = [&](bool meet) {
    const auto thread = [&](unsigned t) {
      mine[t].store(1);
      mine[t].store(2);
      if (meet) ours.store(static_cast<int>(t));
    };
    return interleave::explore(2, {[] {}, thread, [] {}}).executions;
  };
  EXPECT_EQ(count(false), 1u);
  EXPECT_EQ(count(true), 2u);
  const auto both = [&](unsigned) {
    ours.store(1);
    ours.store(2);
  };
  EXPECT_EQ(interleave::explore(2, {[] {}, both, [] {}}).executions, 6u);  // 4 over 2
}

}  // namespace
