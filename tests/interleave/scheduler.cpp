#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <tests/interleave/scheduler.hpp>
#include <tests/support/require.hpp>
#include <unordered_map>
#include <vector>

#include <ucontext.h>

namespace interleave {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
/// Of one execution: more than any has that ends.
constexpr std::size_t most_accesses = 20'000;
using thread_set = unsigned;  // one bit a thread

constexpr thread_set only(unsigned thread) { return 1U << thread; }

struct pending_access {
  const void* place = nullptr;  // null: a thread's beginning, which touches nothing
  access kind = access::read;

  [[nodiscard]] bool touches(const pending_access& other) const {
    return place != nullptr && place == other.place &&
           (kind == access::write || other.kind == access::write);
  }
};

/// One decision on the way to the present: who may go on, and who was tried.
struct decision {
  thread_set candidates = 0;  // still to be tried
  thread_set asleep =
      0;  // what they would do first was tried before, and nothing has touched it since
  unsigned chosen = 0;
};

struct place_state {
  std::uint64_t version = 0;
  clock_vector released{};
};

struct plain_state {
  clock_vector written{};  // by each thread: when it wrote last, 0: never
  clock_vector read{};
};

struct fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  pending_access next;
  const void* waits_for_change = nullptr;
  const void* sleeps = nullptr;
  bool finished = false;
  clock_vector clock{};
  // The last access, if it was a load: where, of which version, how often in a row.
  const void* loaded = nullptr;
  std::uint64_t loaded_version = 0;
  unsigned loads = 0;
};

std::uint64_t executions_begun = 0;

class scheduler {
 public:
  scheduler(unsigned threads, const program& p, const limits& bounds)
      : program_(p), bounds_(bounds), fibers_(threads) {}

  outcome run() {
    outcome all;
    do {
      start_over();
      program_.begin();
      running_ = true;
      decide();
      running_ = false;
      if (failure_.empty() && !redundant_) {
        program_.end();
        ++all.executions;
        if (all.executions > bounds_.executions) failure_ = "more executions than the test allows";
      }
      if (!failure_.empty()) {
        all.failure = failure_ + "; threads in turn: " + order_.substr(0, 200);
        return all;
      }
    } while (next_path());
    return all;
  }

  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] unsigned self() const { return now_; }

  void point(const void* place, access kind) {
    fiber& f = fibers_[now_];
    f.next = {place, kind};
    f.loaded = nullptr;
    decide();
  }

  void load_point(const void* place) {
    fiber& f = fibers_[now_];
    const std::uint64_t version = places_[place].version;
    if (f.loaded != place || f.loaded_version != version) {
      f.loads = 0;
      point(place, access::read);
    } else if (++f.loads > spins_before_waiting) {
      f.loads = 0;
      f.waits_for_change = place;
      point(place, access::read);
    }
    f.loaded = place;
    f.loaded_version = places_[place].version;
  }

  void changed(const void* place) {
    ++places_[place].version;
    for (fiber& f : fibers_)
      if (f.waits_for_change == place) f.waits_for_change = nullptr;
  }

  void acquired(const void* place) { join(fibers_[now_].clock, places_[place].released); }
  void released(const void* place, bool continues) {
    fiber& f = fibers_[now_];
    clock_vector& at = places_[place].released;
    if (!continues) at = {};
    join(at, f.clock);
    ++f.clock[now_];
  }
  void overwritten(const void* place) { places_[place].released = {}; }

  void sleep_at(const void* place) {
    fibers_[now_].sleeps = place;
    sleepers_.push_back(now_);
    point(place, access::write);
  }
  void wake_one(const void* place) {
    const auto first = std::find_if(sleepers_.begin(), sleepers_.end(),
                                    [&](unsigned t) { return fibers_[t].sleeps == place; });
    if (first == sleepers_.end()) return;
    fibers_[*first].sleeps = nullptr;
    sleepers_.erase(first);
  }

  void plain_access(const void* place, access kind) {
    const clock_vector& known = fibers_[now_].clock;
    plain_state& state = plains_[place];
    for (unsigned t = 0; t < fibers_.size(); ++t) {
      if (t == now_) continue;
      if (state.written[t] > known[t] || (kind == access::write && state.read[t] > known[t]))
        fail("a data race: plain data of two threads with nothing between their accesses");
    }
    (kind == access::write ? state.written : state.read)[now_] = known[now_];
  }

  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
    if (running_) leave();
  }

  [[noreturn]] void end_thread() {
    fibers_[now_].finished = true;
    decide();
    std::abort();  // nobody chooses a finished thread
  }

  [[noreturn]] static void begin_fiber();

 private:
  static void join(clock_vector& into, const clock_vector& from) {
    for (unsigned t = 0; t < most_threads; ++t) into[t] = std::max(into[t], from[t]);
  }

  void start_over() {
    ++executions_begun;
    places_.clear();
    plains_.clear();
    sleepers_.clear();
    order_.clear();
    depth_ = 0;
    preemptions_ = 0;
    asleep_ = 0;
    redundant_ = false;
    in_thread_ = false;
    for (unsigned t = 0; t < fibers_.size(); ++t) {
      fiber& f = fibers_[t];
      f.next = {};
      f.waits_for_change = f.sleeps = f.loaded = nullptr;
      f.loads = 0;
      f.finished = false;
      f.clock = {};
      f.clock[t] = 1;
      REQUIRE(::getcontext(&f.context) == 0);
      f.context.uc_stack.ss_sp = f.stack.get();
      f.context.uc_stack.ss_size = stack_bytes;
      f.context.uc_link = nullptr;
      ::makecontext(&f.context, &scheduler::begin_fiber, 0);
    }
  }

  [[nodiscard]] bool may_go_on(unsigned t) const {
    const fiber& f = fibers_[t];
    return !f.finished && f.waits_for_change == nullptr && f.sleeps == nullptr;
  }

  /// Effects: chooses who goes on, as the path says or by its first possibility, and goes there.
  void decide() {
    thread_set enabled = 0;
    bool all_finished = true;
    for (unsigned t = 0; t < fibers_.size(); ++t) {
      all_finished = all_finished && fibers_[t].finished;
      if (may_go_on(t)) enabled |= only(t);
    }
    if (enabled == 0) {
      if (!all_finished) failure_ = "a deadlock: every thread that is left waits";
      return leave();
    }
    if (depth_ == most_accesses) {
      failure_ = "no end: a thread waits without waiting";
      return leave();
    }
    const bool now_may = in_thread_ && (enabled & only(now_)) != 0;
    if (depth_ == path_.size()) {
      const bool bounded = now_may && preemptions_ >= bounds_.preemptions;
      // With a bound, a schedule that was left out as equal to another may be the only one within the bound.
      const thread_set asleep = bounds_.preemptions == ~0U ? asleep_ : 0;
      const thread_set candidates = (bounded ? only(now_) : enabled) & ~asleep;
      if (candidates == 0) {
        redundant_ = true;
        return leave();
      }
      path_.push_back({candidates, asleep, 0});
      choose(path_.back(), now_may);
    }
    const decision& d = path_[depth_++];
    // Whoever could have gone first is asleep until somebody touches what it would touch.
    asleep_ = 0;
    for (unsigned t = 0; t < fibers_.size(); ++t) {
      const bool sleeps = (d.asleep & only(t)) != 0 && t != d.chosen;
      if (sleeps && !fibers_[t].next.touches(fibers_[d.chosen].next)) asleep_ |= only(t);
    }
    if (now_may && d.chosen != now_) ++preemptions_;
    order_ += static_cast<char>('0' + d.chosen);
    go_to(d.chosen);
  }

  /// Effects: the running thread first, if it is a candidate: the fewest switches come first.
  void choose(decision& d, bool now_may) const {
    unsigned t = now_may && (d.candidates & only(now_)) != 0 ? now_ : 0;
    while ((d.candidates & only(t)) == 0) ++t;
    d.chosen = t;
    d.candidates &= ~only(t);
  }

  /// Effects: the path's last decision that has another possibility takes it. Returns: whether there was one.
  bool next_path() {
    while (!path_.empty()) {
      decision& d = path_.back();
      if (d.candidates != 0) {
        d.asleep |= only(d.chosen);
        choose(d, false);
        return true;
      }
      path_.pop_back();
    }
    return false;
  }

  void go_to(unsigned t) {
    ucontext_t& from = in_thread_ ? fibers_[now_].context : outside_;
    if (in_thread_ && t == now_) return;
    in_thread_ = true;
    now_ = t;
    REQUIRE(::swapcontext(&from, &fibers_[t].context) == 0);
  }
  /// Effects: the execution is over; no thread goes on.
  void leave() {
    if (!in_thread_) return;
    in_thread_ = false;
    REQUIRE(::swapcontext(&fibers_[now_].context, &outside_) == 0);
  }

  const program& program_;
  limits bounds_;
  std::vector<fiber> fibers_;
  ucontext_t outside_{};
  std::vector<decision> path_;
  std::size_t depth_ = 0;
  unsigned now_ = 0, preemptions_ = 0;
  thread_set asleep_ = 0;
  bool running_ = false, in_thread_ = false, redundant_ = false;
  std::string failure_, order_;
  std::deque<unsigned> sleepers_;
  std::unordered_map<const void*, place_state> places_;
  std::unordered_map<const void*, plain_state> plains_;
};

scheduler* current = nullptr;

[[nodiscard]] bool scheduled() noexcept { return current != nullptr && current->running(); }

void scheduler::begin_fiber() {
  current->program_.thread(current->now_);
  current->end_thread();
}

}  // namespace

void before(const void* place, access kind) noexcept {
  if (scheduled()) current->point(place, kind);
}
void before_load(const void* place) noexcept {
  if (scheduled()) current->load_point(place);
}
void changed(const void* place) noexcept {
  if (scheduled()) current->changed(place);
}
void acquired(const void* place) noexcept {
  if (scheduled()) current->acquired(place);
}
void released(const void* place, bool continues) noexcept {
  if (scheduled()) current->released(place, continues);
}
void overwritten(const void* place) noexcept {
  if (scheduled()) current->overwritten(place);
}
void sleep_at(const void* place) noexcept {
  if (scheduled()) return current->sleep_at(place);
  std::fputs("interleave: a lock is held for good outside of the threads\n", stderr);
  std::abort();
}
void wake_one(const void* place) noexcept {
  if (scheduled()) current->wake_one(place);
}
void plain_access(const void* place, access kind) noexcept {
  if (scheduled()) current->plain_access(place, kind);
}
void fail(const std::string& what) noexcept { current->fail(what); }
bool in_thread() noexcept { return scheduled(); }
unsigned self() noexcept { return current->self(); }
std::uint64_t execution() noexcept { return executions_begun; }
void end_thread() noexcept { current->end_thread(); }

outcome explore(unsigned threads, const program& p, const limits& bounds) {
  REQUIRE(threads >= 1 && threads <= most_threads && current == nullptr);
  scheduler s(threads, p, bounds);
  current = &s;
  outcome all = s.run();
  current = nullptr;
  return all;
}

}  // namespace interleave
