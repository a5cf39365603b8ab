// Two threads: one reads requests and hands them over, one keeps connections, and both waste.
#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

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

int main() {
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
  return 0;
}
