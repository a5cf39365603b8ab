// What a program has in place of etl::pool, etl::generic_pool and etl::list, with ashlar. All of it is
// freestanding but for the list and the printing.
#include <cstdio>
#include <list>

#include <ashlar/adapt/static_pool_for.hpp>
#include <ashlar/freestanding.hpp>

namespace {

struct message {
  explicit message(int n) : number(n) {}
  int number;
};

// Was: etl::pool<message, 3> messages;
constinit ashlar::static_pool<message, 3> messages;
// Was: etl::generic_pool<64, 8, 10> buffers;
struct alignas(8) buffer {
  std::byte bytes[64];
};
constinit ashlar::static_pool<buffer, 10> buffers;
// Was: etl::list<int, 100> numbers;
constinit ashlar::static_pool_for<std::list<int>, 100> number_nodes;

}  // namespace

int main() {
  message* held[4] = {};
  for (int i = 0; i < 4; ++i) held[i] = messages.create(i);
  const ashlar::pool_stats stats = messages.stats();
  std::printf("full: %d, available: %zu, the fourth: %s\n",
              stats.blocks_in_use == messages.capacity() ? 1 : 0,
              messages.capacity() - stats.blocks_in_use, held[3] == nullptr ? "null" : "there");
  for (message* const m : held) messages.destroy(m);  // null does nothing

  void* const bytes = buffers.allocate();
  std::printf("in pool: %d\n", buffers.owns(bytes) ? 1 : 0);
  buffers.deallocate(bytes);

  decltype(number_nodes)::container numbers(number_nodes);
  for (int i = 0; i < 100; ++i) numbers.push_back(i);
  std::printf("%zu numbers\n", numbers.size());
  return 0;
}
