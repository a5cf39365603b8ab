// tools/inspect/heap_reader.cpp. Layer: inspect.
#include "tools/inspect/heap_reader.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <ashlar/core/heap_image.hpp>

#include "tools/files/error.hpp"
#include "tools/inspect/known_in_heap.hpp"

namespace ashlar::inspect {
namespace {

using detail::heap_image;
using image::memory_image;

constexpr std::size_t broken_max = 20;
/// No stash, no stack of a cache and no slab has as many: a larger number was written there by
/// somebody else.
constexpr std::uint64_t addresses_max = std::uint64_t{1} << 20;

struct shape {
  std::uint64_t block_size = 0, pages = 0, blocks = 0, words = 0;
  unsigned mark_shift = 0;
};

/// Reads the heaps of one library.
class library_reader {
 public:
  library_reader(const memory_image& memory, const described_library& library, heap_contents& to)
      : memory_(memory), library_(library), to_(to) {}

  void read() {
    const heap_image& l = library_.layout;
    if (l.heap != nullptr) read_heap(address_of_pointer(l.heap));
    if (l.list == nullptr) return;
    std::uint64_t next = memory_.value_at<std::uint64_t>(address_of_pointer(l.list)).value_or(0);
    while (next != 0) {
      if (!seen_.insert(next).second)
        return tell("the list of heaps at {:#x} leads round in a circle", next);
      read_heap(next + l.list_heap.offset);
      const auto behind = number(next, l.list_next);
      if (!behind) return tell("the list of heaps leads to {:#x}, where nothing is", next);
      next = *behind;
    }
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> number(std::uint64_t structure,
                                                    detail::image_part part) const {
    return number_at(memory_, structure, part);
  }
  [[nodiscard]] static std::uint64_t address_of_pointer(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }

  template <class... Values>
  void tell(fmt::format_string<Values...> text, Values&&... values) {
    if (to_.broken.size() < broken_max)
      to_.broken.push_back(fmt::format(text, std::forward<Values>(values)...));
    else
      ++to_.broken_left_out;
  }

  bool read_classes() {
    const heap_image& l = library_.layout;
    const std::uint64_t table = address_of_pointer(l.classes);
    const auto count = number(table, l.of_classes.count);
    if (!count || *count > l.class_max) {
      tell("the class table of {} at {:#x} cannot be read: is the file at its place?",
           library_.path, table);
      return false;
    }
    for (std::uint64_t c = 0; c < *count; ++c) {
      const std::uint64_t at = table + l.of_classes.shapes.offset + c * l.shape_bytes;
      shape s;
      s.block_size = number(at, l.of_shape.block_size).value_or(0);
      s.pages = number(at, l.of_shape.pages).value_or(0);
      s.blocks = number(at, l.of_shape.blocks).value_or(0);
      s.words = number(at, l.of_shape.words).value_or(0);
      s.mark_shift =
          memory_.value_at<std::uint8_t>(table + l.of_classes.mark_shifts.offset + c).value_or(0);
      const bool fits = s.pages <= addresses_max && s.block_size <= s.pages << l.page_shift &&
                        s.blocks <= addresses_max &&
                        s.block_size * s.blocks <= s.pages << l.page_shift && s.blocks != 0 &&
                        s.words * 64 >= s.blocks && s.words <= s.blocks &&
                        s.mark_shift >= l.mark_shift_min && s.mark_shift < l.mark_shift_min + 4 &&
                        s.block_size % 16 == 0 && s.block_size != 0;
      if (c != 0 && !fits) {
        tell("the class table of {}: the shape of class {} contradicts itself", library_.path, c);
        return false;
      }
      shapes_.push_back(s);
      if (c != 0) to_.block_sizes.push_back(s.block_size);
    }
    return true;
  }

  void read_heap(std::uint64_t heap) {
    const heap_image& l = library_.layout;
    const auto started = number(heap, l.of_heap.started);
    if (!started) return tell("the bytes of the heap at {:#x} are missing", heap);
    if (*started == 0) return;  // nobody used it
    if (shapes_.empty() && !read_classes()) return;
    found_heap found;
    found.library = library_.path;
    found.address = heap;
    if (const auto name = number(heap, l.of_heap.name).value_or(0); name != 0)
      found.name = memory_.text_at(name, 64);
    secret_ = number(heap, l.of_heap.keys_in_use).value_or(0) != 0
                  ? number(heap, l.of_heap.key_secret).value_or(0)
                  : 0;
    found.has_keys = secret_ != 0;
    is_hardened_ = l.hardened != nullptr &&
                   memory_.value_at<std::uint8_t>(address_of_pointer(l.hardened)).value_or(0) != 0;
    to_.heaps.push_back(found);
    read_stashes(heap);
    read_caches(number(heap, l.of_heap.caches_owned).value_or(0), true);
    read_caches(number(heap, l.of_heap.caches_spare).value_or(0), false);
    const std::uint64_t ranges = number(heap, l.of_heap.range_count).value_or(0);
    if (ranges > l.ranges_max)
      return tell("the heap at {:#x} has {} ranges, more than there can be", heap, ranges);
    const std::uint64_t later = number(heap, l.of_heap.later_ranges).value_or(0);
    for (std::uint64_t i = 0; i < ranges; ++i)
      read_range(i == 0 ? heap + l.of_heap.first_range.offset : later + (i - 1) * l.range_bytes);
  }

  // ---- what rests ----

  void read_stashes(std::uint64_t heap) {
    const heap_image& l = library_.layout;
    std::uint64_t slots = 0;
    for (std::size_t i = l.stashes; i < shapes_.size() * l.stashes; ++i) {
      const std::uint64_t central =
          heap + l.of_heap.centrals.offset + i / l.stashes * l.central_bytes;
      const std::uint64_t stash =
          central + l.of_central.stashes.offset + i % l.stashes * l.stash_bytes;
      const std::uint64_t count = number(stash, l.of_stash.count).value_or(0);
      const std::uint64_t most = number(stash, l.of_stash.capacity).value_or(0);
      slots += most;
      if (count > most || count > addresses_max) {
        tell("the stash of blocks of {} bytes has {} of them, more than its room of {}",
             shapes_[i / l.stashes].block_size, count, most);
        continue;
      }
      add_addresses(number(stash, l.of_stash.slots).value_or(0), count, to_.stashed);
    }
    const std::uint64_t begin = number(heap, l.of_heap.stashes).value_or(0);
    to_.own.push_back({begin, begin + slots * sizeof(std::uint64_t)});
  }

  /// `owned`: they belong to threads, and have blocks.
  void read_caches(std::uint64_t cache, bool owned) {
    const heap_image& l = library_.layout;
    while (cache != 0) {
      if (!seen_.insert(cache).second)
        return tell("the list of caches at {:#x} leads round in a circle", cache);
      const auto next = number(cache, l.of_cache.next);
      if (!next) return tell("the list of caches leads to {:#x}, where no cache is", cache);
      to_.own.push_back({cache, cache + l.cache_bytes});
      for (std::size_t c = 1; owned && c < shapes_.size(); ++c) {
        const auto wide = static_cast<std::uint64_t>(c);
        const std::uint64_t slots = cache + l.of_cache.slots.offset;
        const auto bottom =
            memory_.value_at<std::uint16_t>(cache + l.of_cache.bottom_slot.offset + 2 * wide);
        const auto top = memory_.value_at<std::uint64_t>(cache + l.of_cache.top.offset + 8 * wide);
        const std::uint64_t first = slots + 8 * (std::uint64_t{bottom.value_or(0)} + 1);
        if (!bottom || !top || *top < first || *top > slots + l.of_cache.slots.bytes) {
          tell("the cache at {:#x}: the top of its stack of blocks of {} bytes is not in the stack",
               cache, shapes_[c].block_size);
          break;
        }
        add_addresses(first, (*top - first) / 8, to_.cached);
      }
      cache = *next;
    }
  }

  void add_addresses(std::uint64_t from, std::uint64_t count, std::vector<std::uint64_t>& to) {
    const std::size_t before = to.size();
    to.resize(before + static_cast<std::size_t>(count));
    const auto bytes = std::as_writable_bytes(std::span(to).subspan(before));
    if (memory_.read(from, bytes) == bytes.size()) return;
    to.resize(before);
    tell("{} blocks that rest are listed at {:#x}, where nothing is", count, from);
  }

  // ---- ranges and runs ----

  void read_range(std::uint64_t at) {
    const heap_image& l = library_.layout;
    range_ = {};
    range_.pages = number(at, l.of_range.pages).value_or(0);
    if (range_.pages == 0) return;
    range_.base = number(at, l.of_range.base).value_or(0);
    range_.top = number(at, l.of_range.top).value_or(0);
    range_.class_of = number(at, l.of_range.class_of.entries).value_or(0);
    range_.run_of = number(at, l.of_range.run_of.entries).value_or(0);
    range_.runs = number(at, l.of_range.runs.entries).value_or(0);
    range_.run_count = number(at, l.of_range.runs.committed).value_or(0) / l.run_bytes;
    range_.origin = number(at, l.of_range.marks_origin).value_or(0);
    range_.marks = number(at, l.of_range.marks).value_or(0);
    const std::uint64_t committed = number(at, l.of_range.commit_end).value_or(0);
    if (range_.top > committed || committed > range_.pages)
      return tell("the range at {:#x}: not top <= commit_end <= pages ({}, {}, {})", range_.base,
                  range_.top, committed, range_.pages);
    if (range_.top > number(at, l.of_range.run_of.committed).value_or(0) / sizeof(std::uint32_t))
      return tell("the range at {:#x}: its table of runs is shorter than its {} pages", range_.base,
                  range_.top);
    to_.own.push_back({range_.base, address_of(range_.pages)});
    to_.unused.push_back({address_of(range_.top), address_of(range_.pages)});
    const auto add_table = [&](const detail::image_table& table) {
      const std::uint64_t begin = number(at, table.entries).value_or(0);
      to_.own.push_back({begin, begin + number(at, table.committed).value_or(0)});
    };
    const auto& r = l.of_range;
    for (const auto& table : {r.class_of, r.run_of, r.runs, r.bits, r.slack}) add_table(table);
    for (const auto& table : r.mark_tables) add_table(table);
    std::uint64_t lost_from = UINT64_MAX;
    for (std::uint64_t page = 0; page < range_.top;) {
      const auto id = memory_.value_at<std::uint32_t>(range_.run_of + 4 * page);
      if (!id) {  // the numbers of a damaged range may be of any size
        lost_from = std::min(lost_from, page);
        break;
      }
      const std::uint64_t pages = read_run(page, *id);
      if (pages == 0) {
        lost_from = std::min(lost_from, page++);
        continue;
      }
      tell_lost(std::exchange(lost_from, UINT64_MAX), page);
      page += pages;
    }
    tell_lost(lost_from, range_.top);
  }
  void tell_lost(std::uint64_t from, std::uint64_t to) {
    if (from == UINT64_MAX) return;
    tell(
        "the records of runs do not cover the range: no run begins at {:#x}, so {} pages are left "
        "out",
        address_of(from), to - from);
  }
  [[nodiscard]] std::uint64_t address_of(std::uint64_t page) const {
    return range_.base + (page << library_.layout.page_shift);
  }

  /// Returns: the pages of run `id`, if it begins at `page`; 0: it does not.
  std::uint64_t read_run(std::uint64_t page, std::uint32_t id) {
    const heap_image& l = library_.layout;
    if (id >= range_.run_count) return 0;
    const std::uint64_t record = range_.runs + std::uint64_t{id} * l.run_bytes;
    const std::uint64_t kind = number(record, l.of_run.kind).value_or(0);
    const std::uint64_t pages = number(record, l.of_run.pages).value_or(0);
    if (number(record, l.of_run.first) != page || kind == 0 || kind >= l.kinds || pages == 0 ||
        pages > range_.top - page)
      return 0;
    page_run found;
    found.begin = address_of(page);
    found.end = address_of(page + pages);
    found.heap = static_cast<std::uint32_t>(to_.heaps.size() - 1);
    if (kind == l.kind_slab) {
      if (!read_slab(page, pages, record, found)) to_.runs.push_back(found);
      return pages;
    }
    found.is_large = kind == l.kind_large;
    to_.runs.push_back(found);
    if (found.is_large) add_live(found.begin, found.end - found.begin, 0);
    return pages;
  }

  class_blocks& figures(std::size_t c) {
    const std::uint64_t size = c == 0 ? 0 : shapes_[c].block_size;
    if (by_class_.size() <= c) by_class_.resize(shapes_.size(), SIZE_MAX);
    std::size_t& known = by_class_[c];
    if (known == SIZE_MAX) known = static_cast<std::size_t>(&class_of(to_, size) - &to_.classes[0]);
    return to_.classes[known];
  }

  void add_live(std::uint64_t address, std::uint64_t bytes, std::size_t c) {
    to_.live.push_back({address, bytes, static_cast<std::uint32_t>(to_.runs.size() - 1)});
    class_blocks& f = figures(c);
    ++f.live;
    f.live_bytes += bytes;
    ++to_.heaps.back().blocks;
    to_.heaps.back().bytes += bytes;
  }

  /// Effects: adds the slab and its live blocks. Returns: false where its record contradicts
  /// others.
  bool read_slab(std::uint64_t page, std::uint64_t pages, std::uint64_t record, page_run& found) {
    const heap_image& l = library_.layout;
    const auto c = static_cast<std::size_t>(number(record, l.of_run.size_class).value_or(0));
    const std::uint64_t begin = found.begin;
    if (c == 0 || c >= shapes_.size() || shapes_[c].pages > pages) {
      tell("the slab at {:#x} is of class {}, which has other slabs: its blocks are left out",
           begin, c);
      return false;
    }
    const shape& s = shapes_[c];
    if (const auto told = memory_.value_at<std::uint8_t>(range_.class_of + 2 * page); told != c) {
      tell("the slab at {:#x}: its record says class {}, and the table of pages {}", begin, c,
           told ? fmt::format("{}", *told) : "nothing");
      return false;
    }
    found.block_size = static_cast<std::uint32_t>(s.block_size);
    found.blocks = static_cast<std::uint32_t>(s.blocks);
    found.free_bits = number(record, l.of_run.free_bits).value_or(0);
    bits_.resize(static_cast<std::size_t>(s.words));
    const auto bits = std::as_writable_bytes(std::span(bits_));
    std::uint64_t free = 0;
    if (memory_.read(found.free_bits, bits) != bits.size()) {
      tell("the slab at {:#x}: its free bits are at {:#x}, where nothing is", begin,
           found.free_bits);
      std::ranges::fill(bits_, 0);
    } else {
      for (const std::uint64_t each : bits_) free += static_cast<unsigned>(std::popcount(each));
      if (const auto counted = number(record, l.of_run.free_blocks); counted != free)
        tell("the slab at {:#x}: free_blocks is {}, and {} bits are 1", begin, counted.value_or(0),
             free);
    }
    to_.runs.push_back(found);
    figures(c).at_rest[static_cast<std::size_t>(resting::in_slab)] += free;
    read_blocks(begin, s, c);
    return true;
  }

  void read_blocks(std::uint64_t begin, const shape& s, std::size_t c) {
    const std::uint64_t first_mark = range_.marks + ((begin - range_.origin) >> s.mark_shift);
    const std::uint64_t behind_marks =
        range_.marks + ((begin + (s.blocks - 1) * s.block_size - range_.origin) >> s.mark_shift) +
        1;
    marks_.resize(static_cast<std::size_t>(behind_marks - first_mark));
    if (memory_.read(first_mark, std::as_writable_bytes(std::span(marks_))) != marks_.size())
      return tell(
          "the slab at {:#x}: its marks are at {:#x}, where nothing is: its blocks are left out",
          begin, first_mark);
    std::uint64_t wrong = 0, wrong_at = 0;
    const auto note = [&](std::uint64_t block) {
      if (wrong++ == 0) wrong_at = block;
    };
    for (std::uint64_t i = 0; i < s.blocks; ++i) {
      const std::uint64_t block = begin + i * s.block_size;
      const std::uint8_t mark = marks_[static_cast<std::size_t>(
          range_.marks + ((block - range_.origin) >> s.mark_shift) - first_mark)];
      if (mark == 0) continue;
      if (mark != static_cast<std::uint8_t>(2 * block + 1)) {
        note(block);
        continue;
      }
      if (secret_ != 0 || is_hardened_) {
        const auto word = memory_.value_at<std::uint64_t>(block);
        if (!word) {
          ++unknown_;
          continue;
        }
        if (secret_ != 0 && *word == (secret_ ^ block)) continue;
        // A hardened block that waits after its free is all zeros; in use, its last word has its
        // size.
        if (is_hardened_ && memory_.value_at<std::uint64_t>(block + s.block_size - 8) == 0u)
          continue;
      }
      if ((bits_[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1) != 0) {
        note(block);
        continue;
      }
      add_live(block, s.block_size, c);
    }
    if (wrong != 0)
      tell(
          "the slab at {:#x}: {} marks contradict what they mark, the first that of {:#x} (a mark "
          "is 0 "
          "or its block's, and not of a free block)",
          begin, wrong, wrong_at);
    if (std::exchange(unknown_, 0) != 0)
      tell("the slab at {:#x}: of some blocks the bytes are missing: they are left out", begin);
  }

  struct range {
    std::uint64_t base = 0, pages = 0, top = 0, class_of = 0, run_of = 0, runs = 0, run_count = 0;
    std::uint64_t origin = 0, marks = 0;
  };
  const memory_image& memory_;
  const described_library& library_;
  heap_contents& to_;
  std::vector<shape> shapes_;
  std::vector<std::size_t> by_class_;  // index in to_.classes
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint8_t> marks_;
  range range_;
  std::set<std::uint64_t> seen_;  // elements of lists
  std::uint64_t secret_ = 0, unknown_ = 0;
  bool is_hardened_ = false;
};

/// Effects: counts what rests in `blocks`, by class. Each is a block of a slab.
void count_resting(heap_contents& heaps, const std::vector<std::uint64_t>& blocks, resting where) {
  std::map<std::uint64_t, class_blocks*> by_size;
  for (class_blocks& f : heaps.classes) by_size[f.block_size] = &f;
  std::uint64_t strays = 0;
  for (const std::uint64_t block : blocks) {
    const page_run* const run = run_of(heaps, block);
    if (run == nullptr || run->block_size == 0 || (block - run->begin) % run->block_size != 0)
      ++strays;
    else if (class_blocks* const f = by_size[run->block_size]; f != nullptr)
      ++f->at_rest[static_cast<std::size_t>(where)];
  }
  if (strays != 0)
    heaps.broken.push_back(fmt::format("{} addresses that rest in a {} are no blocks", strays,
                                       where == resting::in_stash ? "stash" : "cache"));
}

}  // namespace

heap_contents read_heaps(const memory_image& image) {
  heap_contents heaps;
  for (const described_library& library : described_libraries(image))
    library_reader(image, library, heaps).read();
  std::ranges::sort(heaps.block_sizes);
  heaps.known = read_known_blocks(image, heaps.broken);
  add_guarded(heaps);
  heaps.own.insert(heaps.own.end(), heaps.known.own.begin(), heaps.known.own.end());
  if (heaps.heaps.empty() && heaps.broken.empty())
    throw files::command_error(
        files::status_failed,
        "the process has ashlar's library, and never used its heap: does another allocator, or a "
        "sanitizer, serve it?");
  const auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };
  if (!std::ranges::is_sorted(heaps.live, by_address)) std::ranges::sort(heaps.live, by_address);
  // The index of a run is that of the order in which they were found.
  std::vector<std::uint32_t> order(heaps.runs.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto by_begin = [&](std::uint32_t a, std::uint32_t b) {
    return heaps.runs[a].begin < heaps.runs[b].begin;
  };
  if (!std::ranges::is_sorted(order, by_begin)) {
    std::ranges::sort(order, by_begin);
    std::vector<page_run> sorted;
    std::vector<std::uint32_t> place(order.size());
    for (const std::uint32_t i : order) {
      place[i] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back(heaps.runs[i]);
    }
    heaps.runs = std::move(sorted);
    for (trace::held_block& block : heaps.live) block.stack = place[block.stack];
  }
  std::ranges::sort(heaps.cached);
  std::ranges::sort(heaps.stashed);
  apply_known(heaps);
  count_resting(heaps, heaps.cached, resting::in_cache);
  count_resting(heaps, heaps.stashed, resting::in_stash);
  std::ranges::sort(heaps.classes, {}, &class_blocks::block_size);
  std::ranges::sort(heaps.own, [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return heaps;
}

const page_run* run_of(const heap_contents& heaps, std::uint64_t address) {
  const auto above = std::ranges::upper_bound(heaps.runs, address, {}, &page_run::begin);
  if (above == heaps.runs.begin() || address >= std::prev(above)->end) return nullptr;
  return &*std::prev(above);
}

const trace::held_block* live_block_in(const heap_contents& heaps, std::uint64_t begin,
                                       std::uint64_t end) {
  const auto found = std::ranges::lower_bound(heaps.live, begin, {}, &trace::held_block::address);
  return found != heaps.live.end() && found->address < end ? &*found : nullptr;
}

resting resting_place_of(const memory_image& image, const heap_contents& heaps,
                         const page_run& slab, std::uint64_t block) {
  if (std::binary_search(heaps.cached.begin(), heaps.cached.end(), block)) return resting::in_cache;
  if (std::binary_search(heaps.stashed.begin(), heaps.stashed.end(), block))
    return resting::in_stash;
  const std::uint64_t index = (block - slab.begin) / slab.block_size;
  const auto word = image.value_at<std::uint64_t>(slab.free_bits + index / 64 * 8);
  return word && (*word >> (index % 64) & 1) != 0 ? resting::in_slab : resting::between;
}

}  // namespace ashlar::inspect
