// tools/image/memory_image.cpp. Layer: image.
#include "tools/image/memory_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/files/files.hpp"

namespace ashlar::image {
namespace {

/// Below its stack pointer a function may use so much (System V ABI of x86-64; others have none).
constexpr std::uint64_t red_zone = 128;
constexpr std::uint64_t word = sizeof(std::uint64_t);
constexpr std::array<std::uint64_t, 8192> zeros{};

}  // namespace

mapped_bytes mapped_bytes::of_file(const std::string& path) {
  const files::open_file file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size == 0)
    return {};
  const auto bytes = static_cast<std::size_t>(about.st_size);
  // Private and writable, since libelf takes no constant bytes; nothing is written.
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                          file.descriptor(), 0);
  if (at == MAP_FAILED) return {};
  return mapped_bytes({static_cast<std::byte*>(at), bytes});
}

mapped_bytes mapped_bytes::of_memory(std::size_t bytes) {
  if (bytes == 0) return {};
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return mapped_bytes({static_cast<std::byte*>(at), bytes});
}

mapped_bytes::~mapped_bytes() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}
mapped_bytes::mapped_bytes(mapped_bytes&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}
mapped_bytes& mapped_bytes::operator=(mapped_bytes&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void memory_image::add_bytes(std::uint64_t begin, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (!segments_.empty()) {
    segment& last = segments_.back();
    if (last.end == begin && last.bytes + (last.end - last.begin) == bytes.data()) {
      last.end += bytes.size();
      return;
    }
  }
  segments_.push_back({begin, begin + bytes.size(), bytes.data()});
}

void memory_image::add_registers(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t>& all = threads_.back().registers;
  const std::size_t before = all.size();
  all.resize(before + bytes.size() / word);
  std::memcpy(all.data() + before, bytes.data(), bytes.size() / word * word);
}

const memory_image::segment* memory_image::segment_of(std::uint64_t address) const {
  if (last_ < segments_.size() && segments_[last_].begin <= address &&
      address < segments_[last_].end)
    return &segments_[last_];
  const auto above = std::ranges::upper_bound(segments_, address, {}, &segment::begin);
  if (above == segments_.begin() || address >= std::prev(above)->end) return nullptr;
  last_ = static_cast<std::size_t>(std::prev(above) - segments_.begin());
  return &segments_[last_];
}

std::vector<trace::address_range> memory_image::kept() const {
  std::vector<trace::address_range> all;
  all.reserve(segments_.size());
  for (const segment& each : segments_) all.push_back({each.begin, each.end});
  return all;
}

const mapping* memory_image::mapping_of(std::uint64_t address) const {
  const auto above = std::ranges::upper_bound(mappings_, address, {}, &mapping::begin);
  if (above == mappings_.begin() || address >= std::prev(above)->end) return nullptr;
  return &*std::prev(above);
}

const std::string& memory_image::place_of(const std::string& path) const {
  const auto found = instead_.find(path);
  return found == instead_.end() ? path : found->second;
}

std::span<const std::byte> memory_image::not_kept(std::uint64_t address) const {
  const mapping* const m = mapping_of(address);
  if (m == nullptr || (m->path.empty() && !m->rest_is_zero)) return {};
  // Up to the next stretch whose bytes were kept.
  std::uint64_t end = m->end;
  const auto next = std::ranges::upper_bound(segments_, address, {}, &segment::begin);
  if (next != segments_.end()) end = std::min(end, next->begin);
  if (m->rest_is_zero)
    return std::as_bytes(std::span(zeros))
        .first(static_cast<std::size_t>(std::min<std::uint64_t>(end - address, sizeof zeros)));
  auto known = files_.find(m->path);
  if (known == files_.end())
    known = files_.emplace(m->path, mapped_bytes::of_file(place_of(m->path))).first;
  const std::span<const std::byte> bytes = known->second.bytes();
  const std::uint64_t from = m->offset + (address - m->begin);
  if (from >= bytes.size()) return {};
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(end - address, bytes.size() - from));
  return bytes.subspan(static_cast<std::size_t>(from), most);
}

std::span<const std::byte> memory_image::at(std::uint64_t address) const {
  const segment* const s = segment_of(address);
  if (s == nullptr) return not_kept(address);
  return {s->bytes + (address - s->begin), static_cast<std::size_t>(s->end - address)};
}

std::size_t memory_image::read(std::uint64_t address, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::span<const std::byte> there = at(address + done);
    if (there.empty()) break;
    const std::size_t count = std::min(there.size(), to.size() - done);
    std::memcpy(to.data() + done, there.data(), count);
    done += count;
  }
  return done;
}

std::string memory_image::text_at(std::uint64_t address, std::size_t most) const {
  const std::span<const std::byte> there = at(address);
  const auto* const text = reinterpret_cast<const char*>(there.data());
  return {text, ::strnlen(text, std::min(there.size(), most))};
}

std::string memory_image::program() const {
  const mapping* const m = mapping_of(entry);
  return m == nullptr ? std::string() : m->path;
}

std::uint64_t memory_image::begin_of_use(const mapping& m) const {
  // A stack of the C library has a closed page below it, so nothing else is in its mapping.
  const mapping* const below = m.begin == 0 ? nullptr : mapping_of(m.begin - 1);
  const bool is_guarded =
      below != nullptr && !below->writable && below->path.empty() && at(below->begin).empty();
  const bool is_first = m.begin <= first_stack && first_stack < m.end;
  if (!is_guarded && !is_first) return m.begin;
  std::uint64_t lowest = m.end;
  for (const thread_state& t : threads_)
    if (m.begin <= t.stack_pointer && t.stack_pointer < m.end)
      lowest = std::min(lowest, t.stack_pointer);
  if (lowest == m.end) return m.begin;
  return std::max(m.begin, (lowest - red_zone) / word * word);
}

std::vector<trace::address_range> memory_image::places_of_pointers() const {
  std::vector<trace::address_range> places;
  for (const mapping& m : mappings_) {
    if (!m.writable) continue;
    const std::uint64_t first = begin_of_use(m);
    auto s = std::ranges::upper_bound(segments_, first, {}, &segment::end);
    for (; s != segments_.end() && s->begin < m.end; ++s) {
      const std::uint64_t begin = (std::max(s->begin, first) + word - 1) / word * word;
      const std::uint64_t end = std::min(s->end, m.end) / word * word;
      if (begin < end) places.push_back({begin, end});
    }
  }
  return places;
}

std::vector<loaded_file> loaded_files(const memory_image& image) {
  std::vector<loaded_file> found;
  for (const mapping& m : image.mappings()) {
    if (m.path.empty() || m.offset != 0) continue;
    const auto magic = image.value_at<std::uint32_t>(m.begin);
    if (!magic || std::memcmp(&*magic, ELFMAG, SELFMAG) != 0) continue;
    // A second mapping of the file's begin, as a linker makes while it loads, is no second file.
    const auto same = [&](const loaded_file& f) { return f.path == m.path; };
    if (std::ranges::none_of(found, same)) found.push_back({m.path, m.begin});
  }
  return found;
}

std::vector<loaded_note> notes_of(const memory_image& image, std::uint64_t begin,
                                  std::string_view owner, std::uint32_t type) {
  std::vector<loaded_note> found;
  const auto header = image.value_at<Elf64_Ehdr>(begin);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) return found;
  std::vector<Elf64_Phdr> parts(header->e_phnum);
  const auto bytes = std::as_writable_bytes(std::span(parts));
  if (image.read(begin + header->e_phoff, bytes) != bytes.size()) return found;
  std::uint64_t lowest = UINT64_MAX;
  for (const Elf64_Phdr& part : parts)
    if (part.p_type == PT_LOAD) lowest = std::min(lowest, part.p_vaddr / 4096 * 4096);
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type != PT_NOTE) continue;
    const std::uint64_t align = part.p_align == 8 ? 8 : 4;
    const auto rounded = [align](std::uint64_t n) { return (n + align - 1) / align * align; };
    const std::uint64_t end = begin + (part.p_vaddr - lowest) + part.p_memsz;
    for (std::uint64_t at = begin + (part.p_vaddr - lowest); at + sizeof(Elf64_Nhdr) <= end;) {
      const auto note = image.value_at<Elf64_Nhdr>(at);
      if (!note) break;
      const std::uint64_t name = at + sizeof(Elf64_Nhdr);
      const std::uint64_t descriptor = name + rounded(note->n_namesz);
      if (note->n_type == type && note->n_namesz == owner.size() + 1 &&
          image.text_at(name, owner.size()) == owner)
        found.push_back({descriptor, note->n_descsz});
      at = descriptor + rounded(note->n_descsz);
    }
  }
  return found;
}

std::string build_id_at(const memory_image& image, std::uint64_t begin) {
  const auto notes = notes_of(image, begin, "GNU", NT_GNU_BUILD_ID);
  if (notes.empty()) return {};
  std::string id(static_cast<std::size_t>(notes[0].bytes), '\0');
  if (image.read(notes[0].address, std::as_writable_bytes(std::span(id))) != id.size()) return {};
  return id;
}

}  // namespace ashlar::image
