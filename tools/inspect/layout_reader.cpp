// tools/inspect/layout_reader.cpp. Layer: inspect.
#include "tools/inspect/layout_reader.hpp"

#include <cstring>

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
        std::uint32_t version;
        std::uint32_t bytes;
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

}  // namespace ashlar::inspect
