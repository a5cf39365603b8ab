// A random program against the shadow model: every component, blocks that change threads, threads that end and begin,
// children of fork; all that lives is audited at intervals. With MODEL_OF_HEAPS it has the heaps alone, which `make test`
// and the ports run.
//
//   model --operations N [--seed S] [--threads T] [--audit-every M] [--only COMPONENT] [--until K]
//
// Each thread runs N / T operations, a function of S, T and M. --until K stops each at its K-th, with an audit: the
// first K that fails is where the fault is, or was noticed. SIGINT and SIGTERM stop it wherever it is, with an audit.
#include <csignal>
#include <random>
#include <string_view>
#include <tests/model/worker.hpp>
#include <thread>

#include <unistd.h>

namespace {

using namespace model;

struct options {
  std::uint64_t operations = 0, seed = 0;
  bool has_seed = false;
  std::uint64_t threads = 1;
  std::uint64_t audit_every = 1'000'000;
  std::uint64_t until = UINT64_MAX;
  std::string only;
};

[[noreturn]] void usage(const std::string& complaint) {
  std::fprintf(stderr,
               "model: %s\nusage: model --operations N [--seed S] [--threads T] "
               "[--audit-every M] [--only COMPONENT] [--until K]\nCOMPONENT is one of:",
               complaint.c_str());
  for (const kind& k : all_kinds()) std::fprintf(stderr, " %s", k.name);
  std::fputc('\n', stderr);
  std::exit(2);
}

options read(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) usage(name + " needs a value");
    const char* const text = argv[i + 1];
    if (name == "--only") {
      o.only = text;
      continue;
    }
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0') usage(name + ": no number: " + text);
    if (name == "--operations") {
      o.operations = value;
    } else if (name == "--seed") {
      o.seed = value;
      o.has_seed = true;
    } else if (name == "--threads") {
      o.threads = value;
    } else if (name == "--audit-every") {
      o.audit_every = value;
    } else if (name == "--until") {
      o.until = value;
    } else {
      usage("no such option: " + name);
    }
  }
  if (o.operations == 0 || o.threads == 0 || o.threads > 256 || o.audit_every == 0)
    usage("--operations and --audit-every are at least 1, --threads from 1 to 256");
  if (!o.has_seed) o.seed = std::random_device{}();
  if (const char* fewer = std::getenv("ASHLAR_OPERATIONS"); fewer != nullptr)  // tests/sweep
    o.operations = std::strtoull(fewer, nullptr, 10);
  return o;
}

/// The command that runs the same once more, up to the latest operation of any thread.
char command[256];
thread_local const worker* running = nullptr;
/// How far each thread is in an audit.
std::uint64_t audited_at = 0;

/// Says where we are when the heap itself ends the process. Only what a signal handler may call.
void tell_and_die(int signal) {
  char text[512];
  const bool in_audit = running == nullptr;
  const int length =
      std::snprintf(text, sizeof text, "model: signal %d %s operation %llu of %s, %s\nrepeat: %s\n",
                    signal, in_audit ? "in the audit after" : "at",
                    static_cast<unsigned long long>(in_audit ? audited_at : running->operation()),
                    in_audit ? "each thread" : "this thread",
                    in_audit ? audited : running->subject_name(), command);
  if (length > 0) static_cast<void>(!::write(2, text, static_cast<std::size_t>(length)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Set where somebody asks for an end: what was done until then is audited and reported.
std::atomic<bool>* stop_asked = nullptr;
void ask_to_stop(int) { stop_asked->store(true, std::memory_order_relaxed); }

class run {
 public:
  explicit run(const plan& what) : plan_(what), world_(what) {
    for (std::size_t i = 0; i < what.threads; ++i)
      workers_.push_back(std::make_unique<worker>(world_, i));
    stop_asked = &world_.stop;
    for (const int s : {SIGINT, SIGTERM}) std::signal(s, ask_to_stop);
  }

  /// Returns: what broke, or nothing.
  std::string all(std::uint64_t operations) try {
    std::uint64_t done = 0;
    while (done < operations) {
      done = std::min(done + plan_.audit_every, operations);
      if (std::string broke = threads(done); !broke.empty()) return broke;
      audited_at = done;
      audit();
      if (world_.stop) break;
    }
    for (const auto& w : workers_) w->end();
    for (const auto& s : world_.shared) {
      if (s == nullptr) continue;
      audited = s->name();
      s->end();
    }
    return {};
  } catch (const broken& fault) {
    return "audit after operation " + std::to_string(audited_at) + " of each thread, " + audited +
           ": " + fault.what();
  }

  void report(double seconds) const {
    std::printf("%-26s %13s %8s\n", "component", "operations", "ns each");
    std::uint64_t operations = 0, forks = 0, lives = 0;
    for (std::size_t i = 0; i < plan_.kinds.size(); ++i) {
      effort sum;
      for (const auto& w : workers_) {
        sum.operations += w->efforts()[i].operations;
        sum.time += w->efforts()[i].time;
      }
      operations += sum.operations;
      std::printf("%-26s %13llu %8.1f\n", plan_.kinds[i].name,
                  static_cast<unsigned long long>(sum.operations),
                  static_cast<double>(sum.time.count()) /
                      static_cast<double>(std::max<std::uint64_t>(sum.operations, 1)));
    }
    for (const auto& w : workers_) {
      forks += w->forks();
      lives += w->lives();
    }
    std::printf("%llu operations, %llu audits of all, %llu forks, %llu components ended, %.1f s\n",
                static_cast<unsigned long long>(operations),
                static_cast<unsigned long long>(audits_), static_cast<unsigned long long>(forks),
                static_cast<unsigned long long>(lives), seconds);
  }

 private:
  /// Effects: a thread for each worker, up to that operation: each generation has new ones.
  std::string threads(std::uint64_t until) {
    std::mutex mutex;
    std::string broke;
    std::vector<std::thread> all;
    for (const auto& w : workers_) {
      all.emplace_back([&, this] {
        running = w.get();
        std::string what;
        try {
          w->run(until);
          return;
        } catch (const std::exception& fault) {
          what = fault.what();
        }
        world_.stop = true;
        const std::lock_guard lock(mutex);
        if (broke.empty())
          broke = "operation " + std::to_string(w->operation()) + " of a thread, " +
                  w->subject_name() + ": " + what;
      });
    }
    for (std::thread& t : all) t.join();
    return broke;
  }

  void audit() {
    std::vector<range> ranges;
    for (const auto& s : world_.shared) {
      if (s == nullptr) continue;
      audited = s->name();
      s->audit();
      s->add_ranges(ranges);
    }
    for (const auto& w : workers_) {
      w->audit();
      w->add_ranges(ranges);
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const range& a, const range& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      require(ranges[i - 1].end <= ranges[i].begin, [&] {
        return std::string("a block of ") + ranges[i - 1].subject + " overlaps one of " +
               ranges[i].subject;
      });
    }
    ++audits_;
  }

  const plan& plan_;
  world world_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::uint64_t audits_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const options o = read(argc, argv);
  plan what{.seed = o.seed,
            .threads = o.threads,
            .operations = (o.operations + o.threads - 1) / o.threads,
            .audit_every = o.audit_every,
            .kinds = all_kinds(),
            .forks = model::can_fork};
  if (!o.only.empty()) {
    std::erase_if(what.kinds, [&](const kind& k) { return k.name != o.only; });
    if (what.kinds.empty()) usage("no such component: " + o.only);
  }
  std::snprintf(command, sizeof command,
                "model --operations %llu --seed %llu --threads %llu --audit-every %llu%s%s",
                static_cast<unsigned long long>(o.operations),
                static_cast<unsigned long long>(o.seed), static_cast<unsigned long long>(o.threads),
                static_cast<unsigned long long>(o.audit_every), o.only.empty() ? "" : " --only ",
                o.only.c_str());
  std::printf("%s\n", command);
  std::fflush(stdout);
  for (const int s : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(s, tell_and_die);
  const auto start = std::chrono::steady_clock::now();
  run all(what);
  const std::string broke = all.all(std::min(what.operations, o.until));
  if (!broke.empty()) {
    std::fprintf(stderr, "model: %s\nrepeat: %s (--until K: stop each thread at its K-th)\n",
                 broke.c_str(), command);
    std::_Exit(1);  // the components are as they broke: their ends would only say so again
  }
  all.report(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return 0;
}
