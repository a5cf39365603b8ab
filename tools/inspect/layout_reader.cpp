// tools/inspect/layout_reader.cpp. Layer: inspect.
#include "tools/inspect/layout_reader.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tools/files/error.hpp"

namespace ashlar::inspect {

using detail::heap_image;
using detail::watch_image;
using files::command_error;
using files::status_failed;

namespace {
/// Returns: whether its lengths can be of structures, so that it was not overwritten.
bool is_sound(const heap_image& l) {
  const auto fits = [](std::uint32_t bytes) { return bytes != 0 && bytes < 1u << 24; };
  return l.page_shift >= 12 && l.page_shift <= 24 && l.mark_shift_min < 16 && l.class_max <= 256 &&
         fits(l.cache_bytes) && fits(l.range_bytes) && fits(l.run_bytes) && fits(l.shape_bytes) &&
         fits(l.central_bytes) && fits(l.stash_bytes) && l.stashes != 0 && l.stashes <= 8;
}
bool is_sound(const watch_image& w) {
  const auto fits = [](std::uint32_t bytes) { return bytes != 0 && bytes < 1u << 24; };
  return fits(w.slot_bytes) && fits(w.record_bytes) && fits(w.chunk_bytes) &&
         fits(w.sample_buckets);
}

/// Effects: visit(path, description) for each that the process's files bring.
/// Returns: the path of a file whose description is not there; empty: all are.
template <class Description, class Visit>
std::string for_each_description(const image::memory_image& image, const char* of_what,
                                 Visit visit) {
  std::string unreadable;
  for (const image::loaded_file& file : image::loaded_files(image)) {
    for (const image::loaded_note& note :
         image::notes_of(image, file.begin, ASHLAR_NOTE_OWNER, Description::note_type)) {
      const auto distance = image.value_at<std::int64_t>(note.address);
      if (note.bytes != sizeof(std::int64_t) || !distance) continue;
      const std::uint64_t at = note.address + static_cast<std::uint64_t>(*distance);
      // The head is the same in each version.
      struct head {
        char magic[8];
        std::uint32_t version, bytes;
      };
      const auto begin = image.value_at<head>(at);
      if (!begin || std::memcmp(begin->magic, Description::right_magic, sizeof begin->magic) != 0) {
        unreadable = file.path;
        continue;
      }
      if (begin->version != Description::current_version || begin->bytes != sizeof(Description))
        throw command_error(
            status_failed,
            fmt::format("{} describes its {} by version {} of the layout, and this command knows "
                        "version {}: use the ashlar command that belongs to that library",
                        file.path, of_what, begin->version, Description::current_version));
      const auto description = image.value_at<Description>(at);
      if (description && is_sound(*description))
        visit(file.path, *description);
      else
        unreadable = file.path;
    }
  }
  return unreadable;
}
}  // namespace

std::vector<watch_image> described_watches(const image::memory_image& image) {
  std::vector<watch_image> found;
  for_each_description<watch_image>(
      image, "checks",
      [&](const std::string&, const watch_image& watch) { found.push_back(watch); });
  return found;
}

std::vector<described_library> described_libraries(const image::memory_image& image) {
  std::vector<described_library> found;
  const std::string unreadable = for_each_description<heap_image>(
      image, "heap",
      [&](const std::string& path, const heap_image& layout) { found.push_back({path, layout}); });
  if (!found.empty()) return found;
  if (!unreadable.empty())
    throw command_error(
        status_failed,
        fmt::format("the description of its heap in {} is missing or was overwritten: was "
                    "the core cut off, or is the file another one now?",
                    unreadable));
  throw command_error(status_failed,
                      "no ashlar heap is in this process: start the program with "
                      "LD_PRELOAD=libashlar-malloc.so, or link "
                      "it with libashlar (if it was, put its files back where they were)");
}

std::optional<std::uint64_t> number_at(const image::memory_image& memory, std::uint64_t structure,
                                       detail::image_part part) {
  const std::uint64_t at = structure + part.offset;
  switch (part.bytes) {
    case 1:
      return memory.value_at<std::uint8_t>(at);
    case 2:
      return memory.value_at<std::uint16_t>(at);
    case 4:
      return memory.value_at<std::uint32_t>(at);
    case 8:
      return memory.value_at<std::uint64_t>(at);
    default:
      return {};
  }
}

namespace {

using detail::image_part;
using detail::watch_image;
using image::memory_image;

constexpr std::uint64_t link_bytes = sizeof(std::uint64_t);
/// More than there can be: the number was written there by somebody else.
constexpr std::uint64_t frames_max = 64;
constexpr std::uint64_t buckets_max = std::uint64_t{1} << 32;
constexpr std::size_t call_max = 64;

/// Reads what one library knows.
class reader {
 public:
  reader(const memory_image& memory, const watch_image& layout, known_blocks& to,
         std::vector<std::string>& broken)
      : memory_(memory), layout_(layout), to_(to), broken_(broken) {}

  void read() {
    const auto watch = reinterpret_cast<std::uintptr_t>(layout_.watch);
    read_records(watch + layout_.of_watch.records.offset);
    if (const std::uint64_t guards = number(watch, layout_.of_watch.guards); guards != 0)
      read_guards(guards);
    if (layout_.samples != nullptr) read_samples(reinterpret_cast<std::uintptr_t>(layout_.samples));
  }

 private:
  [[nodiscard]] std::uint64_t number(std::uint64_t structure, image_part part) const {
    return number_at(memory_, structure, part).value_or(0);
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t address) const {
    return memory_.value_at<std::uint64_t>(address).value_or(0);
  }

  /// Effects: visit(element) for each element of the lists of a table.
  template <class Visit>
  void each_of_table(std::uint64_t table, std::uint64_t buckets, image_part next,
                     const char* of_what, Visit visit) {
    constexpr std::uint64_t buckets_each = 8192;
    std::vector<std::uint64_t> heads;
    for (std::uint64_t done = 0; done < buckets; done += heads.size()) {
      heads.resize(static_cast<std::size_t>(std::min(buckets - done, buckets_each)));
      const auto bytes = std::as_writable_bytes(std::span(heads));
      if (memory_.read(table + done * link_bytes, bytes) != bytes.size())
        return broken_.push_back(
            fmt::format("the table of {} at {:#x} is missing", of_what, table));
      for (std::uint64_t element : heads) {
        while (element != 0) {
          if (!seen_.insert(element).second || memory_.at(element).empty())
            return broken_.push_back(
                fmt::format("a list of {} leads to {:#x}, where it was before or nothing is",
                            of_what, element));
          visit(element);
          element = number(element, next);
        }
      }
    }
  }

  // ---- deeds ----

  std::uint32_t stack_at(std::uint64_t frames, std::uint64_t depth) {
    if (depth == 0 || depth > frames_max) return 0;
    std::vector<std::uint64_t> stack(static_cast<std::size_t>(depth));
    const auto bytes = std::as_writable_bytes(std::span(stack));
    if (memory_.read(frames, bytes) != bytes.size()) return 0;
    const auto [place, is_new] =
        stacks_.emplace(std::move(stack), static_cast<std::uint32_t>(to_.stacks.size()));
    if (is_new) to_.stacks.push_back(place->first);
    return place->second;
  }
  told_deed deed_at(std::uint64_t deed) {
    const watch_image::deed_parts& parts = layout_.of_deed;
    const std::uint64_t call = number(deed, parts.call);
    if (call == 0) return {};
    const auto [place, is_new] = calls_.emplace(call, static_cast<std::uint32_t>(to_.calls.size()));
    if (is_new) to_.calls.push_back(memory_.text_at(call, call_max));
    return {place->second, stack_at(deed + parts.frames.offset, number(deed, parts.depth)),
            number(deed, parts.thread)};
  }
  known_block block_of_record(std::uint64_t record) {
    const watch_image::record_parts& parts = layout_.of_record;
    known_block known;
    known.address = number(record, parts.address);
    known.size = number(record, parts.size);
    known.begin = number(record, parts.block);
    known.made = deed_at(record + parts.made.offset);
    known.freed = deed_at(record + parts.freed.offset);
    known.is_freed = known.freed.call != 0;
    return known;
  }

  // ---- where they are ----

  void read_records(std::uint64_t records) {
    const watch_image::records_parts& parts = layout_.of_records;
    const std::uint64_t table = number(records, parts.buckets);
    const std::uint64_t buckets = number(records, parts.bucket_count);
    if (table == 0 || buckets > buckets_max) return;
    to_.own.push_back({table, table + buckets * link_bytes});
    for (std::uint64_t chunk = number(records, parts.chunks);
         chunk != 0 && seen_.insert(chunk).second; chunk = word(chunk))
      to_.own.push_back({chunk, chunk + layout_.chunk_bytes});
    each_of_table(table, buckets, layout_.of_record.next, "records of checks",
                  [&](std::uint64_t record) { to_.all.push_back(block_of_record(record)); });
  }

  void read_guards(std::uint64_t guards) {
    const watch_image::guards_parts& parts = layout_.of_guards;
    const std::uint64_t begin = number(guards, parts.begin);
    const std::uint64_t reserved = number(guards, parts.reserved);
    const std::uint64_t used = number(guards, parts.used);
    const std::uint64_t records = number(guards, parts.records);
    if (begin == 0) return;
    if (used > reserved || reserved > buckets_max)
      return broken_.push_back(
          fmt::format("of {} slots of guarded blocks {} are used", reserved, used));
    to_.own.push_back({begin, begin + reserved * layout_.slot_bytes});
    to_.own.push_back({records, records + used * layout_.record_bytes});
    for (std::uint64_t i = 0; i < used; ++i) {
      known_block known = block_of_record(records + i * layout_.record_bytes);
      known.begin = begin + i * layout_.slot_bytes;
      known.end = known.begin + layout_.slot_bytes;
      if (known.made.call == 0) continue;  // it is being made
      if (known.begin <= known.address && known.size <= known.end - known.address)
        to_.all.push_back(known);
      else
        broken_.push_back(
            fmt::format("the record of the guarded block at {:#x} names {} bytes at {:#x}",
                        known.begin, known.size, known.address));
    }
  }

  void read_samples(std::uint64_t samples) {
    const watch_image::samples_parts& parts = layout_.of_samples;
    for (std::uint64_t piece = number(samples, parts.pieces);
         piece != 0 && seen_.insert(piece).second; piece = word(piece))
      to_.own.push_back({piece, piece + word(piece + link_bytes)});
    const std::uint64_t table = number(samples, parts.buckets);
    if (table == 0) return;
    each_of_table(table, layout_.sample_buckets, layout_.of_sample.next, "samples",
                  [&](std::uint64_t sample) {
                    known_block known;
                    known.address = known.begin = number(sample, layout_.of_sample.block);
                    known.size = number(sample, layout_.of_sample.size);
                    known.is_sample = true;
                    const std::uint64_t site = number(sample, layout_.of_sample.site);
                    known.made.stack = stack_at(site + layout_.of_site.frames.offset,
                                                number(site, layout_.of_site.depth));
                    to_.all.push_back(known);
                  });
  }

  const memory_image& memory_;
  const watch_image& layout_;
  known_blocks& to_;
  std::vector<std::string>& broken_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> stacks_;
  std::map<std::uint64_t, std::uint32_t> calls_;
  std::set<std::uint64_t> seen_;  // elements of lists
};

}  // namespace

const known_block* known_blocks::in(std::uint64_t begin, std::uint64_t end) const {
  const auto found = std::ranges::lower_bound(all, begin, {}, &known_block::address);
  return found != all.end() && found->address < end ? &*found : nullptr;
}

known_blocks read_known_blocks(const memory_image& image, std::vector<std::string>& broken) {
  known_blocks known;
  for (const watch_image& layout : described_watches(image))
    reader(image, layout, known, broken).read();
  // A block that has a record can be a sample, too. The record has more.
  std::ranges::sort(known.all, [](const known_block& a, const known_block& b) {
    return std::tie(a.address, a.is_sample) < std::tie(b.address, b.is_sample);
  });
  const auto same = [](const known_block& a, const known_block& b) {
    return a.address == b.address;
  };
  known.all.erase(std::unique(known.all.begin(), known.all.end(), same), known.all.end());
  return known;
}

}  // namespace ashlar::inspect
