// Programs without wastes. Usage: clean_cpp NAME
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "programs.h"

// few_pages_pinned: Some blocks keep some pages, but fewer than would be worth a change.
PROGRAM(few_pages_pinned) {
  std::vector<std::unique_ptr<int>> kept(120);
  std::vector<std::unique_ptr<char[]>> rows(40'000);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = std::make_unique<char[]>(140 + i % 16 * 16);
    rows[i][0] = 1;
    if (i % 350 == 0) kept[i / 350] = std::make_unique<int>(1);
  }
  for (auto& row : rows) row.reset();
  long sum = 0;
  for (int round = 0; round < 20'000; ++round)
    for (const auto& each : kept) sum += each ? *each : 0;
  std::printf("%ld\n", sum);
}

// half_stays: Half of what was read goes, and the rest fills its pages well enough.
PROGRAM(half_stays) {
  std::vector<std::unique_ptr<char[]>> kept(25'000);
  std::vector<std::unique_ptr<char[]>> read(25'000);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    read[i] = std::make_unique<char[]>(128 + i % 8 * 16);
    kept[i] = std::make_unique<char[]>(112 + i % 9 * 16);
    read[i][0] = kept[i][0] = 1;
  }
  for (auto& each : read) each.reset();
  long sum = 0;
  for (int round = 0; round < 300; ++round)
    for (const auto& each : kept) sum += each[0];
  std::printf("%ld\n", sum);
}

// interpreter: A small interpreter: values of any size that die in no order, on a heap of its own use of which is mixed.
namespace interpreter {
struct object {
  virtual ~object() = default;
};
struct number : object {
  explicit number(double v) : value(v) {}
  double value;
};
struct text : object {
  explicit text(std::size_t n) : value(n, 'x') {}
  std::string value;
};
struct array : object {
  explicit array(std::size_t n) : values(n) {}
  std::vector<double> values;
};

static std::unique_ptr<object> evaluate(std::mt19937& random) {
  switch (random() % 3) {
    case 0:
      return std::make_unique<array>(1 + random() % 60);
    case 1:
      return std::make_unique<text>(16 + random() % 200);
    default:
      return nullptr;  // nothing, a small number: it needs no block
  }
}

PROGRAM(interpreter) {
  std::mt19937 random(7);
  std::vector<std::unique_ptr<object>> variables(50);
  int live = 0;
  for (int i = 0; i < 2500; ++i) variables[random() % variables.size()] = evaluate(random);
  for (const auto& v : variables) live += v != nullptr ? 1 : 0;
  std::printf("%d\n", live);
}

}  // namespace interpreter

// json_in_arena: A parser whose values live in an arena, as they should.
namespace json_in_arena {
struct value {
  using allocator_type = std::pmr::polymorphic_allocator<>;
  explicit value(allocator_type with) : name(with), children(with) {}
  value(value&& other, allocator_type with)
      : name(std::move(other.name), with), children(std::move(other.children), with) {}
  value(value&&) = default;
  std::pmr::string name;
  std::pmr::vector<value> children;
};

static void parse(value& into, int depth) {
  into.name = "a name that is longer than sixteen characters";
  if (depth == 0) return;
  into.children.reserve(6);
  for (int i = 0; i < 6; ++i) parse(into.children.emplace_back(), depth - 1);
}

static std::size_t names(const value& v) {
  std::size_t all = v.name.size();
  for (const value& child : v.children) all += names(child);
  return all;
}

PROGRAM(json_in_arena) {
  std::size_t all = 0;
  for (int document = 0; document < 20; ++document) {
    std::pmr::monotonic_buffer_resource memory(64 * 1024);
    value root(&memory);
    parse(root, 4);
    all += names(root);
  }
  std::printf("%zu\n", all);
}

}  // namespace json_in_arena

// large_buffers: Large blocks that are used: an image, a file that is read whole, a vector that doubles, a ring of buffers, and a short-lived copy that is given back at once.
namespace large_buffers {
static long blurred(const std::vector<unsigned char>& image, std::size_t width) {
  std::vector<unsigned char> copy(image.size());
  for (std::size_t i = width; i + width < image.size(); ++i)
    copy[i] = static_cast<unsigned char>((image[i - width] + image[i] + image[i + width]) / 3);
  return std::accumulate(copy.begin(), copy.end(), 0L);
}

PROGRAM(large_buffers) {
  std::vector<unsigned char> image(6u << 20, 7);
  long sum = blurred(image, 2048);
  // As a reader of files does that knows the size: a little more than it gets.
  std::vector<char> file;
  file.reserve((3u << 20) + 4096);
  file.resize(3u << 20, 'x');
  std::deque<std::vector<double>> ring;
  for (int i = 0; i < 200; ++i) {
    ring.emplace_back(10'000, 0.5 * i);
    if (ring.size() > 8) ring.pop_front();
    sum += static_cast<long>(ring.back()[17]);
  }
  // A little more than a half of what it could hold.
  std::vector<int> found;
  found.reserve(1u << 20);
  for (int i = 0; i < 700'000; ++i) found.push_back(i);
  sum += found[found.size() / 2] + file[5];
  std::printf("%ld\n", sum);
}

}  // namespace large_buffers

// library_calls: What the C and C++ libraries allocate for themselves, which no line of the program can change.
PROGRAM(library_calls) {
  long all = 0;
  for (int i = 0; i < 1500; ++i) {
    std::FILE* const file = std::fopen("/dev/null", "w");
    if (file == nullptr) std::abort();
    all += std::fprintf(file, "line %d\n", i);
    std::fclose(file);
  }
  const std::regex code("[A-Z]+-([0-9]+)");
  std::cmatch found;
  for (int i = 0; i < 3000; ++i) all += std::regex_match("ABC-123", found, code) ? 1 : 0;
  std::vector<int> numbers(5000);
  for (int i = 0; i < 1200; ++i) {
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<int>(k * 7919 % 5000);
    std::stable_sort(numbers.begin(), numbers.begin() + 50);
  }
  for (int i = 0; i < 2000; ++i) {
    const std::time_t now = i * 100'000L;
    all += std::localtime(&now)->tm_mday;
  }
  std::printf("%ld\n", all);
}

// matrices: Dense arithmetic: a few large blocks that live long.
namespace matrices {
using matrix = std::vector<double>;
constexpr std::size_t n = 120;

static void multiply(const matrix& a, const matrix& b, matrix& to) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      to[i * n + j] = sum;
    }
}

PROGRAM(matrices) {
  matrix a(n * n, 0.5);
  matrix b(n * n, 0.001);
  matrix c(n * n);
  for (int step = 0; step < 20; ++step) {
    multiply(a, b, c);
    a.swap(c);
  }
  std::printf("%.3g\n", a[0]);
}

}  // namespace matrices

// some_of_its_own: One line makes all blocks, and some of them stay. Pages of its own would not help: they would look the same.
PROGRAM(some_of_its_own) {
  std::vector<std::unique_ptr<char[]>> records(50'000);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = std::make_unique<char[]>(100 + i * 13 % 250);
    records[i][0] = 1;
  }
  for (std::size_t i = 0; i < records.size(); ++i)
    if (i % 40 != 0) records[i].reset();
  long sum = 0;
  for (int round = 0; round < 2'000; ++round)
    for (std::size_t i = 0; i < records.size(); i += 40) sum += records[i][0];
  std::printf("%ld\n", sum);
}

// teardown_in_any_order: All blocks go in any order at the end. For a moment few of them keep many pages, but nothing stays.
PROGRAM(teardown_in_any_order) {
  std::mt19937 random(3);
  std::vector<std::unique_ptr<char[]>> all(60'000);
  long sum = 0;
  for (auto& each : all) {
    each = std::make_unique<char[]>(60 + random() % 300);
    each[0] = 1;
  }
  for (int round = 0; round < 50; ++round)
    for (const auto& each : all) sum += each[0];
  std::shuffle(all.begin(), all.end(), random);
  for (auto& each : all) each.reset();
  std::printf("%ld\n", sum);
}

// threads_started: Starts a thread for each of many small works: what a thread needs is the library's.
PROGRAM(threads_started) {
  std::atomic<long> sum{0};
  for (int i = 0; i < 1200; ++i) {
    std::thread worker([&sum, i] { sum += i; });
    worker.join();
  }
  std::printf("%ld\n", sum.load());
}

// waves: Work comes in waves. Between two of them few blocks keep many pages, and the next wave uses these.
namespace waves {
struct worker {
  int number = 0;
  long done = 0;
};

PROGRAM(waves) {
  std::mt19937 random(5);
  std::vector<std::unique_ptr<worker>> workers(1'000);
  std::vector<std::unique_ptr<char[]>> work(30'000);
  long sum = 0;
  for (int wave = 0; wave < 8; ++wave) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      work[i] = std::make_unique<char[]>(90 + random() % 250);
      work[i][0] = 1;
      if (i % 30 == 0 && !workers[i / 30]) workers[i / 30] = std::make_unique<worker>();
    }
    for (std::size_t i = 0; i < work.size(); ++i) {
      sum += work[i][0];
      if (i % 15 == 0)
        work[i] = std::make_unique<char[]>(100 + i % 7 * 30);  // the next wave's first ones
      else
        work[i].reset();
    }
  }
  std::printf("%ld\n", sum);
}

}  // namespace waves

// window: A window of the last measurements slides: each block dies as many steps after its birth, so pages empty in turn.
namespace window {
struct measurement {
  std::unique_ptr<char[]> bytes;
};

PROGRAM(window) {
  static std::array<measurement, 20'000> window;
  long sum = 0;
  for (std::size_t i = 0; i < 70'000; ++i) {
    measurement& slot = window[i % window.size()];
    slot.bytes = std::make_unique<char[]>(64 + i * 31 % 400);
    slot.bytes[0] = 1;
    sum += slot.bytes[0];
  }
  std::printf("%ld\n", sum);
}

}  // namespace window
