// The standard's containers in firmware: each has a static pool that holds exactly its elements. No heap; exceptions are
// off, so a container that outgrows its pool ends in ashlar_fault.
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory_resource>
#include <set>
#include <string>
#include <vector>

#include <ashlar/adapt/pmr_component.hpp>
#include <ashlar/adapt/static_pool_for.hpp>
#include <ashlar/freestanding.hpp>

#include "board/semihosting.hpp"

namespace {

constinit ashlar::static_pool_for<std::list<std::uint32_t>, 20> queue_nodes;
constinit ashlar::static_pool_for<std::map<std::uint32_t, std::int16_t>, 16> sensor_nodes;
constinit ashlar::static_pool_for<std::set<std::uint8_t>, 10> address_nodes;
constinit ashlar::static_arena<1024, ashlar::at_death::ignore> text;

static_assert(ashlar::ram_bytes<queue_nodes, sensor_nodes, address_nodes, text> <= 2560,
              "the containers' RAM");

ASHLAR_POOL_MAP(queue_nodes);
ASHLAR_POOL_MAP(sensor_nodes);
ASHLAR_POOL_MAP(address_nodes);
ASHLAR_POOL_MAP(text);

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault: ", ashlar::describe(what.kind), "\n");
  board::exit(1);
}

int main() {
  decltype(queue_nodes)::container queue(queue_nodes);
  for (std::uint32_t i = 0; i < 20; ++i) queue.push_back(i * i);
  decltype(sensor_nodes)::container sensors(sensor_nodes);
  for (std::uint32_t i = 0; i < 16; ++i) sensors[i] = static_cast<std::int16_t>(20 + i);
  decltype(address_nodes)::container addresses(address_nodes);
  for (std::uint8_t a = 0; a < 10; ++a) addresses.insert(a);
  addresses.erase(3);
  board::write_all(std::uint32_t{queue.size()}, " queued, ", std::uint32_t{sensors.size()},
                   " sensors, ", std::uint32_t{addresses.size()}, " addresses\n");

  ashlar::pmr::resource memory(text);
  std::pmr::vector<std::pmr::string> lines(&memory);
  lines.reserve(4);
  lines.emplace_back("a line that is longer than a string keeps inside");
  lines.emplace_back("another line that is longer than that");
  board::write_all(std::uint32_t{lines.size()}, " lines, ", std::uint32_t{text.used_bytes()},
                   " bytes of text\n");
  return 0;
}
