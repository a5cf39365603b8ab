// A C++ program as people write them: containers, strings, threads, over-aligned types, exceptions.
// Its output depends on its input only, so that it must be the same on every allocator.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

std::uint64_t mix(std::uint64_t sum, std::uint64_t value) {
  return (sum ^ value) * 0x100000001b3u + (sum >> 29);
}

struct alignas(128) wide {
  std::array<double, 20> values{};
  explicit wide(double first = 1) { values.fill(first); }
};

struct node {
  std::string name;
  std::vector<std::unique_ptr<node>> children;
};

std::unique_ptr<node> tree(int depth, const std::string& name) {
  auto result = std::make_unique<node>();
  result->name = name + std::string(static_cast<std::size_t>(depth) * 7, '.');
  for (int i = 0; i < depth; ++i) {
    result->children.push_back(tree(depth - 1, name + std::to_string(i)));
  }
  return result;
}

std::uint64_t weigh(const node& n) {
  std::uint64_t sum = std::hash<std::size_t>()(n.name.size());
  for (const char c : n.name) sum = mix(sum, static_cast<unsigned char>(c));
  for (const auto& child : n.children) sum = mix(sum, weigh(*child));
  return sum;
}

std::uint64_t containers(std::uint64_t seed) {
  std::uint64_t sum = seed;
  std::map<std::string, std::vector<int>> ordered;
  std::unordered_map<std::uint64_t, std::string> hashed;
  std::list<std::string> names;
  std::deque<std::uint64_t> queue;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t x = mix(seed, i) % 5'003;
    ordered["key " + std::to_string(x)].push_back(static_cast<int>(i));
    hashed[x] += static_cast<char>('a' + i % 26);
    names.push_back(std::string(x % 90, 'x') + std::to_string(i));
    if (names.size() > 500) names.pop_front();
    queue.push_back(x);
    if (queue.size() > 700) queue.pop_front();
    if (x % 3 == 0) hashed.erase(x / 2);
    if (x % 5 == 0) ordered.erase("key " + std::to_string(x / 3));
  }
  for (const auto& [key, numbers] : ordered) {
    sum = mix(sum, key.size());
    for (const int n : numbers) sum = mix(sum, static_cast<std::uint64_t>(n));
  }
  for (std::uint64_t x = 0; x < 5'003; ++x) {
    if (const auto found = hashed.find(x); found != hashed.end()) {
      for (const char c : found->second) sum = mix(sum, static_cast<unsigned char>(c));
    }
  }
  for (const std::string& name : names) sum = mix(sum, name.size());
  for (const std::uint64_t x : queue) sum = mix(sum, x);
  return mix(sum, weigh(*tree(6, "root")));
}

std::uint64_t over_aligned() {
  std::uint64_t sum = 0;
  std::vector<wide> grown;
  for (int i = 0; i < 3'000; ++i) grown.emplace_back(i);
  for (const wide& w : grown) {
    if (reinterpret_cast<std::uintptr_t>(&w) % 128 != 0) throw std::logic_error("misaligned");
    sum = mix(sum, static_cast<std::uint64_t>(w.values[19]));
  }
  std::unique_ptr<wide> one(new (std::nothrow) wide(3));
  std::unique_ptr<wide[]> many(new wide[50]);
  std::shared_ptr<wide> shared = std::make_shared<wide>(4);
  const auto weak = std::weak_ptr<wide>(shared);
  sum = mix(sum, static_cast<std::uint64_t>(one->values[0] + many[49].values[7]));
  shared.reset();
  return mix(sum, weak.expired() ? 1 : 2);
}

std::uint64_t exceptions() {
  std::uint64_t sum = 0;
  for (int i = 0; i < 2'000; ++i) {
    try {
      std::vector<std::string> lost(static_cast<std::size_t>(i % 50), std::string(100, 'e'));
      if (i % 2 == 0) throw std::runtime_error("number " + std::to_string(i));
      (void)lost.at(1'000);
    } catch (const std::out_of_range&) {
      sum = mix(sum, 17);
    } catch (const std::exception& e) {
      sum = mix(sum, std::string(e.what()).size());
    }
  }
  return sum;
}

std::uint64_t streams() {
  std::ostringstream text;
  for (int i = 0; i < 20'000; ++i) text << i << ' ' << i * 0.5 << '\n';
  std::istringstream back(text.str());
  std::uint64_t sum = 0;
  for (std::string line; std::getline(back, line);) sum = mix(sum, line.size());
  std::pmr::unsynchronized_pool_resource pool;
  std::pmr::map<int, std::pmr::string> pooled(&pool);
  for (int i = 0; i < 5'000; ++i) pooled[i * 7 % 4'001] = "a string that is not short at all";
  return mix(sum, pooled.size());
}

/// Producers hand strings to consumers, who free them.
std::uint64_t hand_over() {
  std::mutex mutex;
  std::queue<std::unique_ptr<std::string>> queue;
  bool done = false;
  std::uint64_t total = 0;
  std::vector<std::thread> producers, consumers;
  for (int p = 0; p < 2; ++p) {
    producers.emplace_back([&] {
      for (std::size_t i = 0; i < 30'000; ++i) {
        auto item = std::make_unique<std::string>(i % 300, 'p');
        const std::lock_guard lock(mutex);
        queue.push(std::move(item));
      }
    });
  }
  for (int c = 0; c < 2; ++c) {
    consumers.emplace_back([&] {
      for (std::uint64_t mine = 0;;) {
        std::unique_ptr<std::string> item;
        {
          const std::lock_guard lock(mutex);
          if (queue.empty()) {
            if (!done) continue;
            total += mine;
            return;
          }
          item = std::move(queue.front());
          queue.pop();
        }
        mine += item->size();
      }
    });
  }
  for (std::thread& t : producers) t.join();
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  for (std::thread& t : consumers) t.join();
  return total;
}

}  // namespace

int main() {
  std::array<std::uint64_t, 6> sums{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    threads.emplace_back([&sums, i] { sums[i] = containers(i); });
  }
  for (std::thread& t : threads) t.join();
  for (const std::uint64_t sum : sums)
    std::printf("containers %016llx\n", static_cast<unsigned long long>(sum));
  std::printf("aligned %016llx\n", static_cast<unsigned long long>(over_aligned()));
  std::printf("exceptions %016llx\n", static_cast<unsigned long long>(exceptions()));
  std::printf("streams %016llx\n", static_cast<unsigned long long>(streams()));
  std::printf("handed over %llu\n", static_cast<unsigned long long>(hand_over()));
  return 0;
}
