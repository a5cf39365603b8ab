#include <ctime>
#include <tests/model/worker.hpp>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <ashlar/runtime/process_heap.hpp>

namespace model {
namespace {

/// This thread's own time where the system tells it: what others do to the machine is not in it.
std::chrono::nanoseconds thread_time() {
#ifdef _WIN32
  return std::chrono::steady_clock::now().time_since_epoch();
#else
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
#endif
}

constexpr std::size_t longest_stretch = 2000;
/// One stretch in so many: some seconds of a thread.
constexpr std::size_t stretches_a_fork = 3000;
constexpr std::size_t stretches_a_life = 40;
constexpr std::uint64_t operations_of_a_child = 20'000;

}  // namespace

world::world(const plan& what) : the_plan(what) {
  draw choices(support::random_source(what.seed).next());
  for (const kind& k : what.kinds) {
    shared.push_back(k.shared ? k.make(k.name, what.threads, choices) : nullptr);
    weight += k.weight;
  }
}

const kind& world::choose(draw& d) const {
  std::size_t at = d.below(weight);
  for (const kind& k : the_plan.kinds) {
    if (at < k.weight) return k;
    at -= k.weight;
  }
  return the_plan.kinds.back();
}

worker::worker(world& shared, std::size_t self)
    : world_(shared),
      self_(self),
      operations_(shared.the_plan.seed, self),
      own_(shared.the_plan.kinds.size()),
      efforts_(shared.the_plan.kinds.size()) {}

void worker::run(std::uint64_t until) {
  while (operations_.number() < until && !world_.stop.load(std::memory_order_relaxed))
    stretch(until);
}

void worker::stretch(std::uint64_t until) {
  draw d(operations_.next());
  const kind& k = world_.choose(d);
  const auto i = static_cast<std::size_t>(&k - world_.the_plan.kinds.data());
  const std::uint64_t wanted = 32 + d.below(longest_stretch);
  const bool forks = d.one_in(stretches_a_fork), ends = d.one_in(stretches_a_life);
  if (in_child_ && !k.survives_fork) return;
  const std::uint64_t before = operations_.number();
  const auto start = thread_time();
  subject_name_ = k.name;
  if (!k.shared && own_[i] == nullptr) {
    if (before >= until) return;
    own_[i] = k.make(k.name, 1, draw(operations_.next()));
  }
  subject& s = k.shared ? *world_.shared[i] : *own_[i];
  const std::uint64_t left = until - operations_.number();
  if (left != 0) s.run(self_, operations_, wanted < left ? wanted : left);
  if (ends && !k.shared) {
    s.end();
    own_[i].reset();
    ++lives_;
  }
  efforts_[i].time += thread_time() - start;
  efforts_[i].operations += operations_.number() - before + 1;
  if (forks && world_.the_plan.forks && !in_child_) fork_and_go_on();
}

/// Other threads may be anywhere, so a child knows nothing of the blocks that they held.
#ifdef _WIN32
void worker::fork_and_go_on() {}
#else
void worker::fork_and_go_on() {
  subject_name_ = "fork";
  for (const auto& s : world_.shared)
    if (s != nullptr) s->close_mail();
  const pid_t child = ::fork();
  for (const auto& s : world_.shared)
    if (s != nullptr) s->open_mail();
  if (child == 0) go_on_as_child();
  require(child > 0, [] { return "fork was refused"; });
  int status = 0;
  require(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          [&] { return "the child of a fork ended with status " + std::to_string(status); });
  ++forks_;
}

void worker::go_on_as_child() try {
  in_child_ = true;
  const auto look = [this] {
    ashlar::runtime::the_heap.audit();
    for (const auto& s : own_)
      if (s != nullptr) s->audit();
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (world_.shared[i] != nullptr) world_.shared[i]->verify(self_);
  };
  look();
  const std::uint64_t until = operations_.number() + operations_of_a_child;
  while (operations_.number() < until) stretch(until);
  look();
  ::_exit(0);
} catch (const broken& fault) {
  std::fprintf(stderr, "model: in a child of fork, %s: %s\n", subject_name_, fault.what());
  ::_exit(1);
}
#endif

void worker::audit() {
  for (const auto& s : own_) {
    if (s == nullptr) continue;
    audited = s->name();
    s->audit();
  }
}

void worker::add_ranges(std::vector<range>& all) const {
  for (const auto& s : own_)
    if (s != nullptr) s->add_ranges(all);
}

void worker::end() {
  for (auto& s : own_) {
    if (s == nullptr) continue;
    audited = s->name();
    s->end();
    s.reset();
    ++lives_;
  }
}

}  // namespace model
