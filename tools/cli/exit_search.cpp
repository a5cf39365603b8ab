// tools/cli/exit_search.cpp. Layer: cli.
#include "tools/cli/exit_search.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <vector>

#include "tools/cli/error.hpp"
#include "tools/image/stopped_process.hpp"
#include "tools/inspect/heap_reader.hpp"
#include "tools/inspect/survey.hpp"
#include "tools/trace/process_memory.hpp"
#include "tools/trace/reachability.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::cli {
namespace {

// Returns: where ashlar's heap has its own data in a process that runs on it. It has addresses of
// blocks that are free, or were.
std::vector<trace::address_range> data_of_heap(pid_t pid) {
  const auto mappings = trace::mappings_of(pid).value_or(std::vector<trace::process_mapping>());
  const bool is_on_ashlar = std::ranges::any_of(mappings, [](const trace::process_mapping& m) {
    return m.path.find("/libashlar-malloc") != std::string::npos;
  });
  if (!is_on_ashlar) return {};
  try {
    return inspect::read_heaps(image::copy_process(pid).image).own;
  } catch (const std::exception&) {
    return {};  // another traces it, say: what the heap's own data leads to is then not told as lost
  }
}

// The memory of a process that exits, without the data of its heap.
class exiting_memory final : public trace::program_memory {
 public:
  explicit exiting_memory(const trace::exiting_process& process)
      : pid_(static_cast<pid_t>(process.pid)), memory_(pid_, process.stack_begin) {}
  std::vector<trace::address_range> places_of_pointers() override {
    return inspect::places_of_roots(memory_.places_of_pointers(), data_of_heap(pid_));
  }
  trace::address_range data_of_c_library() override { return memory_.data_of_c_library(); }
  std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) override {
    return memory_.read(address, to);
  }

 private:
  pid_t pid_;
  trace::process_memory memory_;
};

}  // namespace

trace::exit_look search_at_exit(const trace::exiting_process& process, const std::string& trace,
                                const std::function<void()>& sign) noexcept try {
  trace::trace_reader reader(trace::open_file_source(trace));
  const trace::block_map blocks = trace::blocks_at_end(reader, sign);
  exiting_memory memory(process);
  std::map<std::uint32_t, trace::lost_blocks> by_stack;
  for (const trace::held_block& block : trace::find_unreachable(blocks, memory, sign)) {
    trace::lost_blocks& lost = by_stack[block.stack];
    lost.stack = block.stack;
    ++lost.blocks;
    lost.bytes += block.size;
  }
  trace::exit_look found;
  for (const auto& [stack, lost] : by_stack) found.lost.push_back(lost);
  return found;
} catch (const std::exception& error) {
  return {reason_of(error), {}};
}

}  // namespace ashlar::cli
