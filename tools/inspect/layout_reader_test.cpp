#include "tools/inspect/layout_reader.hpp"

#include <tests/support/test_headers.hpp>

#include <elf.h>

#include "tools/files/error.hpp"
#include "tools/inspect/heap_reader.hpp"

namespace ashlar::inspect {
namespace {

using detail::heap_image;

/// A file as the loader sees it: an ELF head, a note, the description.
struct planted_file {
  Elf64_Ehdr head{};
  Elf64_Phdr parts[2]{};
  struct {
    Elf64_Nhdr head{7, 8, heap_image::note_type};
    char owner[8] = "ashlar";
    char distance[sizeof(std::int64_t)] = {};  // not aligned to its length
  } note;
  heap_image image{};

  planted_file() {
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_phoff = offsetof(planted_file, parts);
    head.e_phnum = 2;
    parts[0].p_type = PT_LOAD;
    parts[0].p_memsz = sizeof(planted_file);
    parts[1].p_type = PT_NOTE;
    parts[1].p_vaddr = offsetof(planted_file, note);
    parts[1].p_memsz = sizeof note;
    parts[1].p_align = 4;
    const std::int64_t distance = static_cast<std::int64_t>(offsetof(planted_file, image)) -
                                  static_cast<std::int64_t>(offsetof(planted_file, note.distance));
    std::memcpy(note.distance, &distance, sizeof distance);
    std::memcpy(image.magic, heap_image::right_magic, sizeof image.magic);
    image.version = heap_image::current_version;
    image.bytes = sizeof image;
    image.page_shift = 12;
    image.cache_bytes = image.range_bytes = image.run_bytes = image.shape_bytes =
        image.central_bytes = image.stash_bytes = 64;
    image.stashes = 1;
  }
};

constexpr std::uint64_t place = 0x10000;

image::memory_image in_memory(const planted_file& file) {
  image::memory_image image;
  image.add_mapping({place, place + 0x10000, false, "/planted.so", 0, false});
  image.add_bytes(place, std::as_bytes(std::span(&file, 1)));
  return image;
}

std::string why_refused(const image::memory_image& image) {
  try {
    static_cast<void>(read_heaps(image));
  } catch (const files::command_error& error) {
    return error.what();
  }
  return "it was read";
}
bool says(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

TEST(LayoutReader, ADescriptionThatCannotBeIsToldWithTheRemedy) {
  planted_file file;
  file.image.bytes -= 8;
  EXPECT_TRUE(says(why_refused(in_memory(file)), "use the ashlar command that belongs"));
  file.image.bytes += 8;
  file.image.run_bytes = 0;
  EXPECT_TRUE(says(why_refused(in_memory(file)), "was overwritten"));
}

TEST(LayoutReader, ALibraryWhoseHeapNobodyUsed) {
  planted_file file;
  file.image.heap = reinterpret_cast<const void*>(place);
  file.image.of_heap.started = {8, 1};  // a zero byte of the head
  EXPECT_TRUE(says(why_refused(in_memory(file)), "never used its heap"));
}

TEST(LayoutReader, ReadsNumbersOfEachLength) {
  const std::vector<std::uint64_t> words{0x8877665544332211};
  image::memory_image image;
  image.add_bytes(0x1000, std::as_bytes(std::span(words)));
  EXPECT_EQ(number_at(image, 0x1000, {0, 1}), 0x11u);
  EXPECT_EQ(number_at(image, 0x1000, {1, 2}), 0x3322u);
  EXPECT_EQ(number_at(image, 0x1000, {4, 4}), 0x88776655u);
  EXPECT_EQ(number_at(image, 0x1000, {0, 8}), words[0]);
  EXPECT_FALSE(number_at(image, 0x1000, {0, 3}).has_value());
  EXPECT_FALSE(number_at(image, 0x1000, {4, 8}).has_value());
}

}  // namespace
}  // namespace ashlar::inspect
