// tools/inspect/address_answer.cpp. Layer: inspect.
#include "tools/inspect/address_answer.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tools/inspect/survey.hpp"

namespace ashlar::inspect {
namespace {

constexpr std::uint64_t pointer_bytes = sizeof(std::uint64_t);
constexpr std::size_t pointers_max = 10;

std::string in_words(resting where) {
  switch (where) {
    case resting::in_slab:
      return "in its slab";
    case resting::in_stash:
      return "in a shared cache, for any thread";
    case resting::in_cache:
      return "in a thread's cache";
    case resting::in_queue:
      return "in the queue of freed blocks";
    case resting::between:
      break;
  }
  return "on its way, or in a queue of freed blocks";
}

class answerer {
 public:
  answerer(const image::memory_image& image, const heap_contents& heaps, file_symbols& names)
      : image_(image), heaps_(heaps), names_(names) {}

  address_answer answer(std::uint64_t address) {
    address_answer a;
    a.address = address;
    const page_run* const run = run_of(heaps_, address);
    if (run != nullptr) {
      a.block = block_in(*run, address);
      if (a.block) {
        if (std::optional<told_block> next = neighbour_behind(*a.block);
            next && is_nearer(*next, *a.block, address))
          a.block = std::move(next);
        a.before = neighbour_before(*a.block);
        a.behind = neighbour_behind(*a.block);
      } else {
        a.place = run->block_size != 0 ? "what is left over behind the blocks of a slab"
                                       : "free pages of the heap";
      }
    } else {
      a.place = place_outside(address);
    }
    const std::uint64_t begin = a.block ? a.block->begin : address;
    find_pointers(begin, a.block ? begin + a.block->size : address + 1, a);
    return a;
  }

 private:
  std::optional<told_block> block_in(const page_run& run, std::uint64_t address) {
    if (run.is_large) return told({run.begin, run.end}, run);
    if (run.block_size == 0) return {};
    const std::uint64_t index = (address - run.begin) / run.block_size;
    if (index >= run.blocks) return {};
    const std::uint64_t begin = run.begin + index * run.block_size;
    return told({begin, begin + run.block_size}, run);
  }
  told_block told(trace::address_range room, const page_run& run) {
    told_block block;
    block.room = room;
    block.known = heaps_.known.in(room.begin, room.end);
    const bool has_record = block.known != nullptr && !block.known->is_sample;
    block.begin = has_record ? block.known->address : room.begin;
    block.size = has_record ? block.known->size : room.end - room.begin;
    const trace::held_block* const live = live_block_in(heaps_, room.begin, room.end);
    block.is_live = live != nullptr;
    if (block.is_live)
      block.what = content_of(image_, *live, names_).what;
    else if (!run.is_large)
      block.what = in_words(has_record ? resting::in_queue
                                       : resting_place_of(image_, heaps_, run, room.begin));
    else
      block.what = has_record && block.known->end == 0 ? in_words(resting::in_queue)
                                                       : "a guarded block, closed since";
    return block;
  }
  std::optional<told_block> neighbour_before(const told_block& block) {
    const page_run* const run =
        block.room.begin == 0 ? nullptr : run_of(heaps_, block.room.begin - 1);
    return run == nullptr ? std::nullopt : block_in(*run, block.room.begin - 1);
  }
  std::optional<told_block> neighbour_behind(const told_block& block) {
    const page_run* const run = run_of(heaps_, block.room.end);
    return run == nullptr ? std::nullopt : block_in(*run, block.room.end);
  }

  /// Returns: whether `address`, in the room of `block`, is behind that block and nearer to the `next` one, as the end of
  /// the closed page between two guarded blocks is.
  [[nodiscard]] static bool is_nearer(const told_block& next, const told_block& block,
                                      std::uint64_t address) {
    const std::uint64_t end = block.begin + block.size;
    return end <= address && address < next.begin && next.begin - address < address - end + 1;
  }

  [[nodiscard]] bool is_of_heap(std::uint64_t address) const {
    return std::ranges::any_of(heaps_.own, [address](const auto& each) {
      return each.begin <= address && address < each.end;
    });
  }
  std::string place_outside(std::uint64_t address) {
    if (is_of_heap(address))
      return "the heap's own: addresses that it has not used, or a table of it";
    const image::mapping* const m = image_.mapping_of(address);
    if (m == nullptr) return "nothing: no mapping holds it";
    if (const std::string stack = stack_at(*m, address); !stack.empty()) return stack;
    const std::string name = names_.variable_at(address);
    return name.empty() ? "memory that the program mapped" : name;
  }
  [[nodiscard]] std::string stack_at(const image::mapping& m, std::uint64_t address) const {
    for (const image::thread_state& t : image_.threads())
      if (m.begin <= t.stack_pointer && t.stack_pointer < m.end && m.path.empty())
        return fmt::format("the stack of thread {}{}", t.id,
                           address < t.stack_pointer ? ", below what is in use" : "");
    return {};
  }

  // ---- what points there ----

  void find_pointers(std::uint64_t begin, std::uint64_t end, address_answer& to) {
    const auto is_in = [=](std::uint64_t value) { return begin <= value && value < end; };
    for (const image::thread_state& t : image_.threads())
      for (const std::uint64_t value : t.registers)
        if (is_in(value)) add(to, {0, value, fmt::format("a register of thread {}", t.id)});
    for (const trace::address_range& place :
         places_of_roots(image_.places_of_pointers(), heaps_.own))
      each_word(place, [&](std::uint64_t at, std::uint64_t value) {
        if (is_in(value) && to.pointers.size() < pointers_max)
          add(to, {at, value, place_outside(at)});
        else if (is_in(value))
          ++to.pointers_left_out;
      });
    for (const trace::held_block& block : heaps_.live) {
      if (block.address == begin) continue;
      each_word({block.address, block.address + block.size}, [&](std::uint64_t at,
                                                                 std::uint64_t value) {
        if (!is_in(value)) return;
        if (to.pointers.size() >= pointers_max) {
          ++to.pointers_left_out;
          return;
        }
        add(to, {at, value,
                 fmt::format("{} bytes into the block of {} at {:#x} ({})", at - block.address,
                             block.size, block.address, content_of(image_, block, names_).what)});
      });
    }
  }
  static void add(address_answer& to, told_pointer pointer) {
    if (to.pointers.size() < pointers_max)
      to.pointers.push_back(std::move(pointer));
    else
      ++to.pointers_left_out;
  }
  template <class Visit>
  void each_word(trace::address_range place, Visit visit) const {
    while (place.begin < place.end) {
      const std::span<const std::byte> there = image_.at(place.begin);
      const auto bytes = std::min<std::uint64_t>(there.size(), place.end - place.begin) /
                         pointer_bytes * pointer_bytes;
      if (bytes == 0) return;
      for (std::uint64_t i = 0; i < bytes; i += pointer_bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, there.data() + i, sizeof value);
        visit(place.begin + i, value);
      }
      place.begin += bytes;
    }
  }

  const image::memory_image& image_;
  const heap_contents& heaps_;
  file_symbols& names_;
};

}  // namespace

address_answer answer_for(const image::memory_image& image, const heap_contents& heaps,
                          std::uint64_t address, file_symbols& names) {
  return answerer(image, heaps, names).answer(address);
}

}  // namespace ashlar::inspect
