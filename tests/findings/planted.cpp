// Programs with planted wastes: measure.py reads the comments. Usage: planted_cpp NAME
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "programs.h"

// growth_at_peak: One large vector, whose last copy is the peak of the program.
PROGRAM(growth_at_peak) {
  std::vector<double> samples;
  for (int i = 0; i < 1'200'000; ++i) {
    samples.push_back(0.5 * i);  // planted: growth
  }
  double sum = 0;
  for (const double s : samples) sum += s;
  std::printf("%.0f\n", sum);
}

// growth_copied: Elements that can only be copied: each step of the vector copies their blocks, too.
namespace growth_copied {
class name {
 public:
  explicit name(int n) : text_(static_cast<char*>(std::malloc(24))) {
    std::snprintf(text_, 24, "name %d", n);
  }
  name(const name& other) : text_(static_cast<char*>(std::malloc(24))) {
    std::memcpy(text_, other.text_, 24);
  }
  name& operator=(const name&) = delete;
  ~name() { std::free(text_); }

 private:
  char* text_;
};

PROGRAM(growth_copied) {
  std::size_t all = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<name> names;
    for (int i = 0; i < 30; ++i) names.emplace_back(i);  // missed: growth
    all += names.size();
  }
  std::printf("%zu\n", all);
}

}  // namespace growth_copied

// growth_text: Puts pages together, character by character.
namespace growth_text {
static std::string escaped(const char* text) {
  std::string out;
  for (const char* c = text; *c != 0; ++c) {
    if (*c == '<') {
      out += "&lt;";
    } else {
      out += *c;  // planted: growth
    }
  }
  return out;
}

PROGRAM(growth_text) {
  std::size_t all = 0;
  for (int i = 0; i < 3000; ++i)
    all += escaped(
               "a text without any marks that is escaped all the same, one character at a time, "
               "until it is whole and some hundred characters long, which takes several steps")
               .size();
  std::printf("%zu\n", all);
}

}  // namespace growth_text

// handoff_queue: One thread makes messages, another one reads and frees them.
namespace handoff_queue {
struct message {
  int number = 0;
  char text[120] = {};
};

class channel {
 public:
  void send(std::unique_ptr<message> m) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return count_ < room; });
    slots_[(first_ + count_++) % room] = std::move(m);
    changed_.notify_all();
  }
  std::unique_ptr<message> receive() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return count_ > 0; });
    std::unique_ptr<message> m = std::move(slots_[first_]);
    first_ = (first_ + 1) % room;
    --count_;
    changed_.notify_all();
    return m;
  }

 private:
  static constexpr std::size_t room = 64;
  std::unique_ptr<message> slots_[room];
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::mutex lock_;
  std::condition_variable changed_;
};

PROGRAM(handoff_queue) {
  constexpr int messages = 20'000;
  channel to_reader;
  long sum = 0;
  std::thread reader([&] {
    for (int i = 0; i < messages; ++i) sum += to_reader.receive()->number;
  });
  for (int i = 0; i < messages; ++i) {
    auto m = std::make_unique<message>();  // planted: handoff
    m->number = i;
    to_reader.send(std::move(m));
  }
  reader.join();
  std::printf("%ld\n", sum);
}

}  // namespace handoff_queue

// hot_loop: A state that each round makes anew, while the round allocates other things, too.
namespace hot_loop {
struct state {
  explicit state(std::size_t n) : cells(new double[n]()) {}  // planted: hot_loop
  std::unique_ptr<double[]> cells;
};

PROGRAM(hot_loop) {
  std::vector<std::string> kept;
  kept.reserve(70'000);
  double sum = 0;
  for (int round = 0; round < 12'000; ++round) {
    const state s(static_cast<std::size_t>(16 + round % 9));
    for (int k = 0; k < 5; ++k)
      kept.emplace_back(static_cast<std::size_t>(20 + (round + k) % 40), 'x');
    s.cells[0] = round;
    sum += s.cells[0];
  }
  std::printf("%.0f, %zu\n", sum, kept.size());
  std::fflush(stdout);
  std::_Exit(0);  // it leaves its strings to the system
}

}  // namespace hot_loop

// nodes_list: Tasks in a list that are done in another order than they came.
namespace nodes_list {
struct task {
  int number;
  int weight;
};

PROGRAM(nodes_list) {
  std::mt19937 random(2);
  std::list<task> tasks;
  long done = 0;
  for (int i = 0; i < 40'000; ++i) {
    tasks.push_back({i, static_cast<int>(random() % 10)});  // planted: nodes
    if (tasks.size() < 300) continue;
    auto at = tasks.begin();
    std::advance(at, static_cast<long>(random() % 50));
    done += at->weight;
    tasks.erase(at);
  }
  std::printf("%ld\n", done);
}

}  // namespace nodes_list

// nodes_map: A table of sessions that come and go.
namespace nodes_map {
struct session {
  long since = 0;
  int requests = 0;
};

PROGRAM(nodes_map) {
  std::mt19937 random(1);
  std::map<unsigned, session> sessions;
  for (int i = 0; i < 60'000; ++i) {
    const unsigned id = static_cast<unsigned>(random() % 4000);
    if (random() % 2 == 0) {
      ++sessions[id].requests;  // planted: nodes
    } else {
      sessions.erase(id);
    }
  }
  std::printf("%s\n", sessions.empty() ? "none" : "some");
}

}  // namespace nodes_map

// pins_index: Documents are read into trees, of which only an entry of an index stays. The trees go document by document, at the end.
namespace pins_index {
struct element {
  std::unique_ptr<element> child;
  std::unique_ptr<element> next;
  std::unique_ptr<char[]> text;
};
struct index_entry {
  int document;
  int place;
  char word[24];
};

static std::vector<std::unique_ptr<index_entry>> entries;

static void remember(int document, int place) {
  auto e = std::make_unique<index_entry>();  // planted: pins
  e->document = document;
  e->place = place;
  std::snprintf(e->word, sizeof e->word, "word%d", place);
  entries.push_back(std::move(e));
}

static std::unique_ptr<element> read(int document) {
  auto root = std::make_unique<element>();
  for (int i = 0; i < 500; ++i) {
    auto e = std::make_unique<element>();
    e->text = std::make_unique<char[]>(static_cast<std::size_t>(64 + (document + i) % 11 * 16));
    e->text[0] = 'x';
    e->next = std::move(root->child);
    root->child = std::move(e);
    if (i % 25 == 0) remember(document, i);
  }
  return root;
}

PROGRAM(pins_index) {
  entries.reserve(3'000);
  std::vector<std::unique_ptr<element>> documents;
  documents.reserve(100);
  for (int i = 0; i < 100; ++i) documents.push_back(read(i));
  while (!documents.empty()) {
    std::unique_ptr<element> rest = std::move(documents.back()->child);
    while (rest) rest = std::move(rest->next);
    documents.pop_back();
  }
  long sum = 0;
  for (int round = 0; round < 2'000; ++round)
    for (const auto& e : entries) sum += e->place;
  std::printf("%ld\n", sum);
}

}  // namespace pins_index

// pins_second_phase: The first phase leaves results behind; the second one needs a tenth of the memory, and does not get the first one's back.
namespace pins_second_phase {
struct result {
  long sum;
  int first;
};

PROGRAM(pins_second_phase) {
  std::vector<std::unique_ptr<result>> results;
  results.reserve(2'000);
  std::vector<std::unique_ptr<char[]>> cells(60'000);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = std::make_unique<char[]>(90 + i % 15 * 16);
    cells[i][0] = 1;
    if (i % 40 == 39) results.push_back(std::make_unique<result>());  // planted: pins
  }
  for (auto& cell : cells) cell.reset();
  std::vector<std::unique_ptr<char[]>> pages(300);
  long sum = 0;
  for (int round = 0; round < 400; ++round)
    for (std::size_t i = 0; i < pages.size(); i += 1 + static_cast<std::size_t>(round) % 5) {
      pages[i] = std::make_unique<char[]>(2'000 + i % 3 * 1'000);
      pages[i][0] = 1;
      sum += pages[i][0] + results[i]->first;
    }
  std::printf("%ld\n", sum);
}

}  // namespace pins_second_phase

// pool_particles: Particles that are born and die at random.
namespace pool_particles {
struct particle {
  double place[3] = {};
  double speed[3] = {};
  int age = 0;
};

PROGRAM(pool_particles) {
  std::mt19937 random(3);
  std::vector<std::unique_ptr<particle>> all(500);
  long ages = 0;
  for (int step = 0; step < 30'000; ++step) {
    auto& one = all[random() % all.size()];
    if (one) {
      ages += one->age;
      one.reset();
    } else {
      one = std::make_unique<particle>();  // planted: pool
      one->age = step % 7;
    }
  }
  std::printf("%ld\n", ages);
}

}  // namespace pool_particles

// rising_cache: A cache without a bound. Entries are dropped at times, and all of it at the end, so it is no leak.
PROGRAM(rising_cache) {
  std::map<int, std::string> pages;
  std::size_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    pages.emplace(i, std::string(2000 + static_cast<std::size_t>(i % 9), 'x'));  // planted: rising
    if (i % 10 == 9) pages.erase(i - 5);
    sent += pages.rbegin()->second.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  std::printf("%zu\n", sent);
}

// several_index: Builds an index of words: a key for each look-up, postings that grow, a document that is freed at once.
namespace several_index {
struct token {
  token* next = nullptr;
  int word = 0;
};

static token* tokens_of(int document) {
  token* list = nullptr;
  for (int i = 0; i < 200; ++i) {
    auto* const t = new token;  // planted: together
    t->next = list;
    t->word = (document * 37 + i * i) % 400;
    list = t;
  }
  return list;
}

PROGRAM(several_index) {
  std::unordered_map<std::string, std::vector<int>> index;
  index.reserve(1000);
  for (int word = 0; word < 400; ++word)
    index.emplace("the postings of word " + std::to_string(word), std::vector<int>());
  for (int document = 0; document < 150; ++document) {
    token* const all = tokens_of(document);
    for (const token* t = all; t != nullptr; t = t->next) {
      const std::string key =
          "the postings of word " + std::to_string(t->word);  // planted: short_lived
      index.find(key)->second.push_back(document);            // planted: growth
    }
    for (token* t = all; t != nullptr;) {
      token* const next = t->next;
      delete t;
      t = next;
    }
  }
  std::printf("%zu\n", index.size());
}

}  // namespace several_index

// several_server: Two threads: one reads requests and hands them over, one keeps connections, and both waste.
namespace several_server {
struct request {
  int connection = 0;
  char body[200] = {};
};
struct connection {
  long bytes = 0;
  int state = 0;
  char peer[46] = {};
};
constexpr int requests = 15'000;
constexpr std::size_t room = 128;

static std::atomic<request*> ring[room];

static void read_requests() {
  for (int i = 0; i < requests; ++i) {
    auto* const r = new request;  // planted: handoff
    r->connection = i;
    auto& slot = ring[static_cast<std::size_t>(i) % room];
    while (slot.load() != nullptr) std::this_thread::yield();
    slot.store(r);
  }
}

PROGRAM(several_server) {
  std::thread reader(read_requests);
  std::mt19937 random(4);
  std::vector<std::unique_ptr<connection>> connections(400);
  long sum = 0;
  for (int i = 0; i < requests; ++i) {
    auto& slot = ring[static_cast<std::size_t>(i) % room];
    while (slot.load() == nullptr) std::this_thread::yield();
    const std::unique_ptr<request> r(slot.exchange(nullptr));
    auto& c = connections[random() % connections.size()];
    if (!c || c->state > 2) {
      c.reset();
      c = std::make_unique<connection>();  // planted: pool
    }
    ++c->state;
    sum += r->connection;
  }
  reader.join();
  std::printf("%ld\n", sum);
}

}  // namespace several_server

// slack_text: Texts of a round number of characters, and the zero behind them.
/* allocator: ashlar */
PROGRAM(slack_text) {
  std::vector<std::unique_ptr<char[]>> all;
  all.reserve(2000);
  for (int i = 0; i < 2000; ++i) {
    all.push_back(std::make_unique<char[]>(512 + 1));  // planted: slack
    std::memset(all.back().get(), 'a' + i % 26, 512);
  }
  std::printf("%zu\n", all.size());
}

// short_lived_far: A buffer for each round, during which the round makes a few more that it keeps.
PROGRAM(short_lived_far) {
  std::vector<std::string> kept;
  kept.reserve(30'000);
  for (int round = 0; round < 3000; ++round) {
    const auto buffer = std::make_unique<char[]>(2000 + round % 7);  // missed: short_lived
    for (int k = 0; k < 8; ++k)
      kept.emplace_back(static_cast<std::size_t>(20 + (round + k) % 40), 'x');
    buffer[0] = kept.back()[0];
  }
  std::printf("%zu\n", kept.size());
  std::fflush(stdout);
  std::_Exit(0);
}

// short_lived_key: Counts words by a key that is put together anew for each.
PROGRAM(short_lived_key) {
  std::unordered_map<std::string, int> counts;
  counts["the table of all the words/number 0"] = 0;
  long found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string key = "the table of all the words";  // planted: short_lived
    key += "/number " + std::to_string(i % 10);      // planted: short_lived
    found += static_cast<long>(counts.count(key));
  }
  std::printf("%ld\n", found);
}

// short_lived_stream: A stream for each record, only to put a few numbers together.
PROGRAM(short_lived_stream) {
  std::size_t all = 0;
  for (int i = 0; i < 4000; ++i) {
    std::ostringstream line;
    line << "a record of some length, number " << i << ", and its square "
         << i * i;             // planted: short_lived
    all += line.str().size();  // planted: short_lived
  }
  std::printf("%zu\n", all);
}

// together_document: Parses a document into a tree, looks at it, and frees it node by node.
namespace together_document {
struct element {
  int kind = 0;
  std::unique_ptr<element> first;
  std::unique_ptr<element> next;
};

static std::unique_ptr<element> parse(int depth, int& budget) {
  std::unique_ptr<element> list;
  for (int i = 0; i < 4 && budget > 0; ++i) {
    --budget;
    auto e = std::make_unique<element>();  // planted: together
    e->kind = i;
    if (depth > 0) e->first = parse(depth - 1, budget);
    e->next = std::move(list);
    list = std::move(e);
  }
  return list;
}

static int count(const element* e) {
  int all = 0;
  for (; e != nullptr; e = e->next.get()) all += 1 + count(e->first.get());
  return all;
}

PROGRAM(together_document) {
  int all = 0;
  for (int document = 0; document < 40; ++document) {
    int budget = 800;
    const auto tree = parse(6, budget);
    all += count(tree.get());
  }
  std::printf("%d\n", all);
}

}  // namespace together_document

// untouched_reserve: A log in memory that reserves what the longest day may need, and a day is short.
PROGRAM(untouched_reserve) {
  std::string log;
  log.reserve(32u << 20);  // planted: untouched
  for (int i = 0; i < 20'000; ++i) {
    log += "a line of the log of some length\n";
  }
  std::printf("%zu\n", log.size());
}

// untouched_threads: Each worker has a buffer for the largest message that there may be.
namespace untouched_threads {
static long work(int worker) {
  constexpr std::size_t most = 16u << 20;
  const std::unique_ptr<char[]> message(new char[most]);  // planted: untouched
  long sum = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bytes = 1000 + static_cast<std::size_t>(i * (worker + 7)) % 40'000;
    std::fill_n(message.get(), bytes, static_cast<char>(i));
    sum += message[bytes / 2];
  }
  return sum;
}

PROGRAM(untouched_threads) {
  long sums[4] = {};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back([&sums, i] { sums[i] = work(i); });
  workers.clear();
  std::printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
}

}  // namespace untouched_threads
