// Programs with planted wastes: measure.py reads the comments. Usage: planted_cpp NAME
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
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
    for (int i = 0; i < 30; ++i) names.emplace_back(i);  // planted: growth
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

// hot_nodes: A set for each line of a text, to count the line's different words.
PROGRAM(hot_nodes) {
  std::size_t different = 0;
  for (int line = 0; line < 4'000; ++line) {
    std::set<int> words;
    for (int i = 0; i < 25; ++i) words.insert((line * 31 + i * 17) % 1'000);  // planted: hot_loop
    different += words.size();
  }
  std::printf("%zu\n", different);
}

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

// untouched_reserve: A log in memory that reserves what the longest day may need, and a day is short.
PROGRAM(untouched_reserve) {
  std::string log;
  log.reserve(32u << 20);  // planted: untouched
  for (int i = 0; i < 20'000; ++i) {
    log += "a line of the log of some length\n";
  }
  std::printf("%zu\n", log.size());
}
