// tools/inspect/survey.cpp. Layer: inspect.
#include "tools/inspect/survey.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace ashlar::inspect {
namespace {

constexpr std::uint64_t word = sizeof(std::uint64_t);
constexpr std::size_t looked_at = 512;  // bytes of a block tell what is in it
constexpr std::size_t words_asked = 16;
constexpr std::size_t text_min = 4;
constexpr std::size_t examples_max = 3;
constexpr std::uint64_t lowest_mapped = 4096;  // Linux maps nothing below it

bool is_text(std::span<const std::byte> bytes) {
  std::size_t length = 0;
  for (const std::byte each : bytes) {
    const auto c = static_cast<unsigned char>(each);
    if (c == 0) return length >= text_min;
    if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) return false;
    ++length;
  }
  return length >= text_min;
}

/// The memory of the process, and the words that lie in none: as if they had addresses, too.
class memory_with_registers final : public trace::program_memory {
 public:
  memory_with_registers(const image::memory_image& image, const heap_contents& heaps,
                        const root_words& more)
      : image_(image),
        places_(places_of_roots(image.places_of_pointers(), heaps.own)),
        words_(more) {
    for (const image::thread_state& thread : image.threads())
      words_.insert(words_.end(), thread.registers.begin(), thread.registers.end());
    if (!words_.empty()) places_.push_back({first, first + words_.size() * word});
  }
  std::vector<trace::address_range> places_of_pointers() override { return places_; }
  std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) override {
    if (address < first) return image_.read(address, std::as_writable_bytes(to)) / word;
    const auto from = static_cast<std::size_t>((address - first) / word);
    const std::size_t count = std::min(to.size(), words_.size() - from);
    std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(from), count, to.begin());
    return count;
  }
  std::span<const std::uint64_t> in_place(std::uint64_t address) override {
    const std::span<const std::byte> bytes = image_.at(address);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % word != 0) return {};
    return {reinterpret_cast<const std::uint64_t*>(bytes.data()), bytes.size() / word};
  }

 private:
  static constexpr std::uint64_t first = std::uint64_t{0xffff'ffff} << 32;  // no program is there
  const image::memory_image& image_;
  std::vector<trace::address_range> places_;
  root_words words_;
};

/// Adds blocks and bytes of them to groups, by what is in them and, if asked for, by their size.
class grouping {
 public:
  grouping(const known_blocks& known, bool by_size) : known_(known), by_size_(by_size) {}
  void add(const trace::held_block& block, block_content content, std::uint64_t bytes) {
    const std::uint64_t size = by_size_ ? block.size : 0;
    counted& of = groups_[{std::move(content.what), content.is_type, size}];
    ++of.group.blocks;
    of.group.bytes += bytes;
    std::vector<std::uint64_t>& examples = of.group.examples;
    const known_block* const known = known_.in(block.address, block.address + 1);
    if (known == nullptr || known->made.stack == 0) {
      if (examples.size() < examples_max) examples.push_back(block.address);
      return;
    }
    ++of.sites[known->made.stack];
    if (of.known_examples == examples_max) return;
    examples.insert(examples.begin() + static_cast<std::ptrdiff_t>(of.known_examples++),
                    block.address);
    examples.resize(std::min(examples.size(), examples_max));
  }
  /// Effects: notes who allocated a block of the kind, if there are any.
  void add_site(const trace::held_block& block, block_content content, std::uint32_t stack) {
    const auto of = groups_.find({std::move(content.what), content.is_type, block.size});
    if (of != groups_.end()) ++of->second.sites[stack];
  }
  std::vector<block_group> sorted() && {
    std::vector<block_group> all;
    for (auto& [key, of] : groups_) {
      std::tie(of.group.what, of.group.is_type, of.group.block_size) = key;
      for (const auto& [stack, blocks] : of.sites) of.group.sites.push_back({stack, blocks});
      std::ranges::sort(of.group.sites, [](const auto& a, const auto& b) {
        return std::tie(b.blocks, a.stack) < std::tie(a.blocks, b.stack);
      });
      all.push_back(std::move(of.group));
    }
    std::ranges::sort(all, [](const block_group& a, const block_group& b) {
      return std::tie(b.bytes, a.what, a.block_size) < std::tie(a.bytes, b.what, b.block_size);
    });
    return all;
  }

 private:
  struct counted {
    block_group group;
    std::size_t known_examples = 0;
    std::map<std::uint32_t, std::uint64_t> sites;  // stack -> blocks
  };
  const known_blocks& known_;
  bool by_size_;
  std::map<std::tuple<std::string, bool, std::uint64_t>, counted> groups_;
};

}  // namespace

std::vector<trace::address_range> places_of_roots(
    const std::vector<trace::address_range>& places,
    const std::vector<trace::address_range>& all_own) {
  std::vector<trace::address_range> roots;
  auto own = all_own.begin();
  for (trace::address_range place : places) {
    while (own != all_own.end() && own->end <= place.begin) ++own;
    for (auto next = own; next != all_own.end() && next->begin < place.end; ++next) {
      if (place.begin < next->begin) roots.push_back({place.begin, next->begin / word * word});
      place.begin = std::max(place.begin, (next->end + word - 1) / word * word);
    }
    if (place.begin < place.end) roots.push_back(place);
  }
  return roots;
}

block_content content_of(const image::memory_image& image, const trace::held_block& block,
                         file_symbols& names) {
  std::array<std::uint64_t, looked_at / word> copy{};
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(block.size, looked_at));
  const std::size_t got =
      image.read(block.address, std::as_writable_bytes(std::span(copy)).first(bytes));
  const std::span<const std::uint64_t> words(copy.data(), got / word);
  if (words.empty()) return {"bytes that are missing", false};
  if (const std::string* const type = names.type_by_first_word(words[0])) return {*type, true};
  const auto is_zero = [](std::uint64_t w) { return w == 0; };
  if (std::ranges::all_of(words, is_zero)) return {"zeros", false};
  const auto is_pointer = [&image](std::uint64_t w) {
    return w >= lowest_mapped && image.mapping_of(w) != nullptr;
  };
  // The bytes of an address may be letters by chance, up to its zeros.
  if (!is_pointer(words[0]) && is_text(std::as_bytes(words))) return {"text", false};
  std::size_t pointers = 0, others = 0;
  for (const std::uint64_t w : words.first(std::min(words.size(), words_asked))) {
    if (w == 0) continue;
    ++(is_pointer(w) ? pointers : others);
  }
  return {pointers != 0 && pointers >= others ? "pointers" : "other data", false};
}

std::vector<block_group> groups_by_what(const image::memory_image& image,
                                        const heap_contents& heaps, file_symbols& names) {
  grouping groups(heaps.known, false);
  for (const trace::held_block& block : heaps.live)
    groups.add(block, content_of(image, block, names), block.size);
  return std::move(groups).sorted();
}

std::vector<block_group> pinning_groups(const image::memory_image& image,
                                        const heap_contents& heaps, const page_map& pages,
                                        file_symbols& names) {
  grouping groups(heaps.known, true);
  for (const page_map::pinned_share& each : pages.pinned) {
    const trace::held_block& block = heaps.live[each.block];
    groups.add(block, content_of(image, block, names), each.bytes);
  }
  // A sample has pages of its own, and pins none. But it tells whose such blocks are.
  for (const known_block& known : heaps.known.all) {
    if (!known.is_sample || known.made.stack == 0) continue;
    const trace::held_block* const block = live_block_in(heaps, known.address, known.address + 1);
    if (block != nullptr)
      groups.add_site(*block, content_of(image, *block, names), known.made.stack);
  }
  return std::move(groups).sorted();
}

void find_unreachable_groups(const image::memory_image& image, heap_contents& heaps,
                             const root_words& more, file_symbols& names, survey& to) {
  memory_with_registers memory(image, heaps, more);
  trace::block_map blocks;
  blocks.live = std::move(heaps.live);
  grouping groups(heaps.known, true);
  for (const trace::held_block& block : trace::find_unreachable(blocks, memory, [] {})) {
    ++to.unreachable_blocks;
    to.unreachable_bytes += block.size;
    groups.add(block, content_of(image, block, names), block.size);
  }
  heaps.live = std::move(blocks.live);
  to.unreachable = std::move(groups).sorted();
}

}  // namespace ashlar::inspect
