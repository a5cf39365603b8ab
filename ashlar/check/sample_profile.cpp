// check/sample_profile.cpp: the parts of such a profile, in memory first.
// Layer: check.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include <ashlar/check/sample_profile.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/clock.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/replaced_file.hpp>

namespace ashlar::detail {
namespace {

/// A list that grows, in memory from the system. Once memory is refused it takes nothing more.
template <class T>
class page_list {
 public:
  page_list() noexcept = default;
  page_list(const page_list&) = delete;
  page_list& operator=(const page_list&) = delete;
  ~page_list() { os::page_source::deallocate(items_, room_ * sizeof(T), alignof(T)); }

  /// Effects: appends what is there of `count` items at `from`.
  void put(const void* from, std::size_t count) noexcept {
    if (count == 0 || (room_ - count_ < count && !grow(count_ + count))) return;
    std::memcpy(items_ + count_, from, count * sizeof(T));
    count_ += count;
  }
  void add(const T& item) noexcept { put(&item, 1); }

  [[nodiscard]] std::span<T> items() noexcept { return {items_, count_}; }
  void keep_first(std::size_t count) noexcept { count_ = count; }
  [[nodiscard]] bool is_refused() const noexcept { return refused_; }

 private:
  [[nodiscard]] bool grow(std::size_t count) noexcept {
    constexpr std::size_t first = 64 * 1024 / sizeof(T);
    const std::size_t wider = std::max({first, room_ * 2, count});
    void* const fresh =
        refused_ ? nullptr : os::page_source::allocate(wider * sizeof(T), alignof(T));
    if (fresh == nullptr) {
      refused_ = true;
      return false;
    }
    if (count_ != 0) std::memcpy(fresh, items_, count_ * sizeof(T));
    os::page_source::deallocate(items_, room_ * sizeof(T), alignof(T));
    items_ = static_cast<T*>(fresh);
    room_ = wider;
    return true;
  }

  T* items_ = nullptr;
  std::size_t count_ = 0, room_ = 0;
  bool refused_ = false;
};

/// A site as it was at one moment. Its frames stay where they are for ever.
struct site_copy {
  pprof::heap_values values;
  const void* const* frames;
  std::uint32_t depth;
  std::uint32_t tag;
};

struct mapped_code {
  std::uintptr_t begin, end;
};

class profile_of_samples {
 public:
  profile_of_samples() noexcept : to_(bytes_) {}

  void write(sampled_blocks& samples, std::uint64_t every_bytes, std::uint64_t begun_ns) noexcept {
    const std::uint64_t now = os::steady_ns();
    pprof::begin_heap_profile(to_, every_bytes);
    to_.default_sample_type("inuse_space");
    to_.time(os::date_ns(), now - begun_ns);
    // The first one is the program's: readers name the profile after it.
    add_mapping_of(reinterpret_cast<std::uintptr_t>(os::code_of_program()));
    samples.for_each_site([&](const sampled_site& s) {
      const pprof::heap_values v = s.at(now);
      constexpr double some = 0.5;  // what is left of a sum of which all was subtracted is less
      if (v.allocated_blocks >= some || v.live_blocks >= some)
        sites_.add({v, s.frames, s.depth, s.tag});
    });
    for (const site_copy& s : sites_.items())
      for (std::uint32_t i = 0; i < s.depth; ++i) addresses_.add(call_at(s.frames[i]));
    add_locations();
    tag_key_ = to_.text("tag");
    sampled_tag tag;
    for (unsigned n = 1; samples.read_tag(n, tag); ++n) to_.text(tag.name);
    for (const site_copy& s : sites_.items()) add_sample(s);
  }

  [[nodiscard]] bool is_whole() const noexcept {
    return !bytes_.is_refused() && !mappings_.is_refused() && !sites_.is_refused() &&
           !addresses_.is_refused();
  }
  [[nodiscard]] std::span<const char> bytes() noexcept { return bytes_.items(); }

 private:
  /// Returns: an address in the call that returns to `frame`.
  [[nodiscard]] static std::uint64_t call_at(const void* frame) noexcept {
    return reinterpret_cast<std::uintptr_t>(frame) - 1;
  }

  /// Effects: the file that has this code has a mapping. One that was unloaded since then has none.
  void add_mapping_of(std::uint64_t address) noexcept {
    os::for_code_segment_at(
        reinterpret_cast<const void*>(address),
        [](const os::code_segment& s, void* self) {
          static_cast<profile_of_samples*>(self)->add_mapping(s);
        },
        this);
  }
  void add_mapping(const os::code_segment& s) noexcept {
    constexpr std::size_t bytes_max = 32;
    char digits[2 * bytes_max];
    const std::size_t bytes = std::min(s.build_id_bytes, bytes_max);
    for (std::size_t i = 0; i < bytes; ++i) {
      digits[2 * i] = "0123456789abcdef"[s.build_id[i] >> 4];
      digits[2 * i + 1] = "0123456789abcdef"[s.build_id[i] & 15];
    }
    char room[os::replaced_path_max];
    const pprof::text_index file = to_.text(os::full_path(s, room, sizeof room));
    const pprof::text_index id = to_.text(std::string_view(digits, 2 * bytes));
    mappings_.add({s.begin, s.end});
    to_.add(pprof::mapping{.id = mappings_.items().size(),
                           .begin = s.begin,
                           .end = s.end,
                           .file_offset = s.file_offset,
                           .file = file,
                           .build_id = id});
  }

  /// Effects: each address is there once, in order, and has a location: its place in the list, from
  /// 1 on.
  void add_locations() noexcept {
    const std::span<std::uint64_t> all = addresses_.items();
    // By a function of its own: libc++ has std::less for numbers in its library, which this one
    // does not need.
    std::sort(all.begin(), all.end(), [](std::uint64_t a, std::uint64_t b) { return a < b; });
    addresses_.keep_first(
        static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin()));
    std::uint64_t id = 0;
    for (const std::uint64_t address : addresses_.items()) {
      if (mapping_of(address) == 0) add_mapping_of(address);
      to_.add(pprof::location{
          .id = ++id, .mapping = mapping_of(address), .address = address, .lines = {}});
    }
  }
  [[nodiscard]] std::uint64_t mapping_of(std::uint64_t address) noexcept {
    std::uint64_t id = 0;
    for (const mapped_code& m : mappings_.items()) {
      ++id;
      if (address >= m.begin && address < m.end) return id;
    }
    return 0;
  }

  void add_sample(const site_copy& s) noexcept {
    std::uint64_t ids[os::frames_max];
    const std::span<const std::uint64_t> all = addresses_.items();
    for (std::uint32_t i = 0; i < s.depth; ++i)
      ids[i] = static_cast<std::uint64_t>(
          std::lower_bound(all.begin(), all.end(), call_at(s.frames[i])) - all.begin() + 1);
    to_.sample({ids, s.depth}, pprof::rounded(s.values), tag_key_,
               s.tag != 0 ? tag_key_ + s.tag : 0);
  }

  page_list<char> bytes_;
  page_list<mapped_code> mappings_;
  page_list<site_copy> sites_;
  page_list<std::uint64_t> addresses_;
  pprof::profile_writer<page_list<char>> to_;
  pprof::text_index tag_key_ = 0;  ///< behind it are the tags by their numbers
};

}  // namespace

int write_sample_profile(sampled_blocks& samples, profile_taker take, void* to,
                         std::uint64_t every_bytes, std::uint64_t begun_ns) noexcept {
  profile_of_samples profile;
  profile.write(samples, every_bytes, begun_ns);
  if (!profile.is_whole()) return ENOMEM;
  return take(profile.bytes().data(), profile.bytes().size(), to);
}

int write_sample_profile(sampled_blocks& samples, const char* path, std::uint64_t every_bytes,
                         std::uint64_t begun_ns) noexcept {
  const auto into_file = [](const char* bytes, std::size_t count, void* to) {
    return os::replace_file(static_cast<const char*>(to), bytes, count);
  };
  return write_sample_profile(samples, into_file, const_cast<char*>(path), every_bytes, begun_ns);
}

}  // namespace ashlar::detail
