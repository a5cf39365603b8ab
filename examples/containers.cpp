// Standard containers on ashlar: on the process heap, in a pool of their own without any heap, and
// through std::pmr.
#include <cstdio>

#include <ashlar/ashlar.hpp>

namespace {

// Room for 100 sensors, and not one call of a heap: the nodes are in this object.
constinit ashlar::static_pool_for<std::map<int, double>, 100> sensor_nodes;

struct message {
  int number = 0;
  char text[60] = {};
};
// One block for each shared message and its counts.
constinit ashlar::static_pool<ashlar::shared_block<message>, 3> messages;

}  // namespace

int main() {
  ashlar::containers::map<int, ashlar::containers::string> names;
  names[1] = "on the process heap, as ashlar::allocator says";

  decltype(sensor_nodes)::container sensors(sensor_nodes);
  for (int i = 0; i < 100; ++i) sensors[i] = 20.5;

  const auto first = ashlar::allocate_shared<message>(messages);
  const auto second = first;

  ashlar::pmr::list<int> list(ashlar::pmr::process_resource());
  list.push_back(1);

  std::printf("%zu sensors in %zu bytes of static storage\n", sensors.size(), sizeof(sensor_nodes));
  std::printf("%zu of %zu messages in use, %ld owners\n", messages.stats().blocks_in_use,
              messages.capacity(), first.use_count());
  return 0;
}
