// Programs that were written when the rules were settled: some have wastes, those named clean_* have none. Usage: later_cpp NAME
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "programs.h"

// clean_compressor: Packs runs of bytes: two buffers that are swapped, and a table on the stack.
PROGRAM(clean_compressor) {
  std::vector<unsigned char> in(300'000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i / 37 % 5);
  std::vector<unsigned char> out;
  out.reserve(2 * in.size());
  std::size_t sizes = 0;
  for (int round = 0; round < 20; ++round) {
    int last[256];
    std::memset(last, 0, sizeof last);
    out.clear();
    for (std::size_t i = 0; i < in.size();) {
      std::size_t run = 1;
      while (i + run < in.size() && in[i + run] == in[i] && run < 255) ++run;
      out.push_back(static_cast<unsigned char>(run));
      out.push_back(in[i]);
      ++last[in[i]];
      i += run;
    }
    sizes += out.size() + static_cast<std::size_t>(last[0] % 2);
    std::printf("%s", std::to_string(round % 10).c_str());
  }
  std::printf("\n%zu\n", sizes);
}

// clean_simulation: Bodies in arrays, a grid that is built anew in the same memory for each step.
namespace clean_simulation {
struct bodies {
  std::vector<float> x, y, vx, vy;
};

PROGRAM(clean_simulation) {
  constexpr std::size_t n = 5000;
  constexpr std::size_t cells = 64 * 64;
  bodies b;
  for (auto* column : {&b.x, &b.y, &b.vx, &b.vy}) column->resize(n);
  for (std::size_t i = 0; i < n; ++i)
    b.x[i] = static_cast<float>(i % 64), b.y[i] = static_cast<float>(i / 64 % 64);
  std::vector<unsigned> begin(cells + 1);
  std::vector<unsigned> order(n);
  for (int step = 0; step < 50; ++step) {
    begin.assign(cells + 1, 0);
    const auto cell = [&](std::size_t i) {
      return static_cast<std::size_t>(b.y[i]) * 64 + static_cast<std::size_t>(b.x[i]);
    };
    for (std::size_t i = 0; i < n; ++i) ++begin[cell(i) + 1];
    for (std::size_t c = 0; c < cells; ++c) begin[c + 1] += begin[c];
    std::vector<unsigned> at(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < n; ++i) order[at[cell(i)]++] = static_cast<unsigned>(i);
  }
  std::printf("%u\n", order[n / 2]);
}

}  // namespace clean_simulation

// clean_tree_once: A tree of settings that is read once and kept to the end, with values of any length.
namespace clean_tree_once {
struct node {
  std::string name;
  std::variant<long, std::string, std::vector<long>> value;
  std::vector<std::unique_ptr<node>> children;
};

static std::unique_ptr<node> read(int depth, int number) {
  auto n = std::make_unique<node>();
  n->name = "setting " + std::to_string(number);
  if (number % 3 == 0) {
    n->value = static_cast<long>(number);
  } else if (number % 3 == 1) {
    n->value = std::string(static_cast<std::size_t>(10 + number % 70), 'v');
  } else {
    n->value = std::vector<long>(static_cast<std::size_t>(1 + number % 9));
  }
  if (depth == 0) return n;
  n->children.reserve(5);
  for (int i = 0; i < 5; ++i) n->children.push_back(read(depth - 1, number * 5 + i));
  return n;
}

PROGRAM(clean_tree_once) {
  const auto all = read(5, 1);
  std::printf("%zu\n", all->children.size());
}

}  // namespace clean_tree_once

// clean_undo: An editor's steps to undo: most are dropped at each save, all of the same line, the latest stay.
namespace clean_undo {
struct step {
  std::unique_ptr<char[]> text;
};

PROGRAM(clean_undo) {
  std::deque<step> steps;
  long sum = 0;
  for (std::size_t i = 0; i < 60'000; ++i) {
    steps.push_back({std::make_unique<char[]>(20 + i * 17 % 500)});
    steps.back().text[0] = 1;
    sum += steps.back().text[0];
    if (i % 15'000 == 14'999)
      while (steps.size() > 3'000) steps.pop_front();
  }
  std::printf("%ld\n", sum);
}

}  // namespace clean_undo

// csv_columns: Splits lines into columns, each a string in a vector that is made for each line. The strings are a finding that was not planned. (A reader would agree with it: views into the line need no blocks.)
namespace csv_columns {
static std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> columns;
  std::string::size_type from = 0;
  for (;;) {
    const auto end = line.find(';', from);
    columns.push_back(line.substr(from, end - from));  // planted: growth, wrong: hot_loop
    if (end == std::string::npos) return columns;
    from = end + 1;
  }
}

PROGRAM(csv_columns) {
  const std::string line =
      "a first column of the table;a second one that is long;and a third one, longer still";
  std::size_t all = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto columns = split(line);
    all += columns.size();
  }
  std::printf("%zu\n", all);
}

}  // namespace csv_columns

// game_frames: A frame makes its draw calls on the heap, sorts them, and drops them all.
namespace game_frames {
struct draw_call {
  float depth = 0;
  int mesh = 0;
  float matrix[16] = {};
};

PROGRAM(game_frames) {
  std::vector<std::unique_ptr<draw_call>> calls;
  calls.reserve(500);
  long drawn = 0;
  for (int frame = 0; frame < 60; ++frame) {
    for (int i = 0; i < 300 + frame; ++i) {
      calls.push_back(std::make_unique<draw_call>());  // planted: together
      calls.back()->depth = static_cast<float>((i * 37 + frame) % 101);
    }
    std::sort(calls.begin(), calls.end(),
              [](const auto& a, const auto& b) { return a->depth < b->depth; });
    drawn += static_cast<long>(calls.size());
    calls.clear();
  }
  std::printf("%ld\n", drawn);
}

}  // namespace game_frames

// order_book: Orders by price in a multimap, filled and cancelled at random, and an event for each that is logged and dropped.
namespace order_book {
struct order {
  int number;
  int amount;
};

PROGRAM(order_book) {
  std::mt19937 random(8);
  std::multimap<int, order> book;
  char last[64] = {};
  for (int i = 0; i < 25'000; ++i) {
    const int price = 1000 + static_cast<int>(random() % 200);
    book.emplace(price, order{i, 10});  // planted: nodes
    if (book.size() > 500) book.erase(std::next(book.begin(), static_cast<long>(random() % 20)));
    char* const event =
        static_cast<char*>(std::malloc(48 + random() % 16));  // planted: short_lived
    if (event == nullptr) std::abort();
    std::snprintf(event, 48, "order %d at %d", i, price);
    std::memcpy(last, event, 48);
    std::free(event);
  }
  std::printf("%zu %s\n", book.size(), last);
}

}  // namespace order_book

// packet_ring: Captures packets into a ring for the busiest link there is, and listens to a quiet one for a moment.
namespace packet_ring {
struct ring {
  explicit ring(std::size_t size)
      : bytes(static_cast<unsigned char*>(std::aligned_alloc(64, size))),  // planted: untouched
        size(size) {
    if (bytes == nullptr) std::abort();
  }
  ~ring() { std::free(bytes); }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  void push(const unsigned char* packet, std::size_t length) {
    if (at + length > size) at = 0;
    std::memcpy(bytes + at, packet, length);
    at += length;
  }
  unsigned char* bytes;
  std::size_t size;
  std::size_t at = 0;
};

PROGRAM(packet_ring) {
  ring captured(64u << 20);
  std::map<int, long> lengths;
  unsigned char packet[1514] = {};
  for (int i = 0; i < 3000; ++i) {
    const std::size_t length = 60 + static_cast<std::size_t>(i) * 7919 % 1454;
    packet[17] = static_cast<unsigned char>(i);
    captured.push(packet, length);
    ++lengths[static_cast<int>(length / 500)];
  }
  std::printf("%zu bytes, %zu kinds of length\n", captured.at, lengths.size());
}

}  // namespace packet_ring

// pins_mail: A mailbox is opened: of each mail the text is looked through and dropped, and its header stays.
namespace pins_mail {
struct header {
  int number;
  bool is_new;
  char subject[40];
};

PROGRAM(pins_mail) {
  std::vector<header*> box;
  box.reserve(1'500);
  std::vector<std::string> texts;
  texts.reserve(45'000);
  for (int mail = 0; mail < 1'500; ++mail) {
    header* const h = new header{mail, true, {}};  // planted: pins
    std::snprintf(h->subject, sizeof h->subject, "subject %d", mail);
    box.push_back(h);
    for (int part = 0; part < 30; ++part)
      texts.push_back(std::string(static_cast<std::size_t>(100 + (mail * part) % 170), 't'));
  }
  std::size_t found = 0;
  for (std::string& text : texts) {
    found += text.find('u') != std::string::npos;
    text = std::string();
  }
  for (int round = 0; round < 2'000; ++round)
    for (const header* h : box) found += std::strlen(h->subject);
  std::printf("%zu\n", found);
}

}  // namespace pins_mail

// pins_subscribers: Subscribers of a service come while a snapshot is sent, which is many messages. The snapshot goes, and they stay.
namespace pins_subscribers {
struct subscriber {
  std::function<int(int)> call;
  std::unique_ptr<int[]> filter;
};

static std::unique_ptr<subscriber> subscribe(int number) {
  auto s = std::make_unique<subscriber>();                                        // planted: pins
  s->filter = std::make_unique<int[]>(static_cast<std::size_t>(8 + number % 8));  // planted: pins
  const int filter = s->filter[0];
  s->call = [filter, number](int value) { return value + filter + number; };
  return s;
}

PROGRAM(pins_subscribers) {
  std::vector<std::unique_ptr<subscriber>> all(1'200);
  std::vector<std::vector<char>> messages(48'000);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i] = std::vector<char>(140 + i * 11 % 200);
    if (i % 40 == 7) all[i / 40] = subscribe(static_cast<int>(i));
  }
  for (auto& message : messages) message = std::vector<char>();
  long sum = 0;
  for (int round = 0; round < 20'000; ++round)
    for (const auto& s : all) sum += s->call(round);
  std::printf("%ld\n", sum);
}

}  // namespace pins_subscribers

// visitor_objects: A virtual visitor that is made on the heap for each node that it visits.
namespace visitor_objects {
struct visitor {
  virtual ~visitor() = default;
  virtual long visit(int value) = 0;
};
struct summing : visitor {
  explicit summing(int by) : factor(by) {}
  long visit(int value) override { return static_cast<long>(value) * factor; }
  int factor;
};

static std::unique_ptr<visitor> visitor_for(int kind) {
  return std::make_unique<summing>(kind);  // planted: short_lived
}

PROGRAM(visitor_objects) {
  std::vector<int> values(8000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i % 91);
  long sum = 0;
  for (const int v : values) sum += visitor_for(v % 3)->visit(v);
  std::printf("%ld\n", sum);
}

}  // namespace visitor_objects

// work_items: A pool of three threads; the main thread makes closures, and a worker drops each.
PROGRAM(work_items) {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::function<long()>> queue;
  bool is_over = false;
  long sum = 0;
  std::vector<std::thread> workers;
  workers.reserve(3);
  for (int w = 0; w < 3; ++w)
    workers.emplace_back([&] {
      for (;;) {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return is_over || !queue.empty(); });
        if (queue.empty()) return;
        const std::function<long()> work = std::move(queue.front());
        queue.pop_front();
        changed.notify_all();
        guard.unlock();
        const long result = work();
        guard.lock();
        sum += result;
      }
    });
  for (long i = 0; i < 9000; ++i) {
    const long a = i, b = i % 7, c = i % 11;
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return queue.size() < 64; });
    queue.emplace_back([a, b, c] { return a + b * c; });  // planted: handoff
    changed.notify_all();
  }
  {
    const std::lock_guard guard(lock);
    is_over = true;
  }
  changed.notify_all();
  for (std::thread& w : workers) w.join();
  std::printf("%ld\n", sum);
}
