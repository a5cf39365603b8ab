// os/memory_pressure_linux.cpp: os/memory_pressure.hpp from the files of control groups, version 2
// or 1.
// Layer: os.
#include <algorithm>
#include <cstring>
#include <string_view>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/memory_pressure.hpp>
#include <ashlar/os/small_file.hpp>

namespace ashlar::os {
namespace {

constexpr std::size_t groups_max = 8192;
constexpr std::size_t text_max = 1024;
constexpr char end_of_text_bytes[] = {'\0'};
constexpr std::string_view end_of_text(end_of_text_bytes, 1);

/// Returns: the number at `text`, at most UINT64_MAX; none if it begins with no digit.
bool parse(const char* text, std::uint64_t& value) noexcept {
  if (*text < '0' || *text > '9') return false;
  std::uint64_t n = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    if (__builtin_mul_overflow(n, 10u, &n) ||
        __builtin_add_overflow(n, static_cast<unsigned>(*text - '0'), &n))
      n = UINT64_MAX;
  value = n;
  return true;
}

/// Returns: the number that follows `key` in the first line that begins with `line`; 0 if there is
/// none.
std::uint64_t number_in(const char* text, const char* line, const char* key) noexcept {
  for (const char* at = text; at != nullptr && *at != '\0';) {
    const char* const end = std::strchr(at, '\n');
    if (std::strncmp(at, line, std::strlen(line)) == 0) {
      const char* const found = std::strstr(at + std::strlen(line), key);
      std::uint64_t value = 0;
      if (found != nullptr && (end == nullptr || found < end) &&
          parse(found + std::strlen(key), value))
        return value;
      return 0;
    }
    at = end == nullptr ? nullptr : end + 1;
  }
  return 0;
}

/// A line of /proc/self/cgroup: number:controllers:path. Version 2 has no controllers, version 1's
/// memory hierarchy names memory, alone or beside others.
struct group_line {
  const char* path = nullptr;
  bool is_two = false;
  bool is_memory = false;
};
/// Effects: ends the line's path by a zero byte. Returns: nothing but nulls if it is no such line.
group_line split(char* line) noexcept {
  char* const controllers = std::strchr(line, ':');
  if (controllers == nullptr) return {};
  char* const path = std::strchr(controllers + 1, ':');
  if (path == nullptr) return {};
  *path = '\0';
  group_line g;
  g.path = path + 1;
  g.is_two = controllers[1] == '\0';
  for (const char* name = controllers; name != nullptr; name = std::strchr(name + 1, ','))
    if (std::strncmp(name + 1, "memory", 6) == 0 && (name[7] == ',' || name[7] == '\0'))
      g.is_memory = true;
  return g;
}

}  // namespace

memory_group::memory_group(const char* root) noexcept {
  line_writer<path_max + 64> list;
  list << root << "/proc/self/cgroup" << end_of_text;
  char text[groups_max];
  const file_text got = read_small_file(list.data(), text, sizeof text - 1);
  if (got.why != nullptr) return;
  text[got.size] = '\0';
  for (char* line = text; line != nullptr && version_ == version::none;) {
    char* const end = std::strchr(line, '\n');
    if (end != nullptr) *end = '\0';
    const group_line g = split(line);
    if (g.is_memory)
      static_cast<void>(settle_on(root, "/sys/fs/cgroup/memory", g.path, version::one));
    if (g.is_two && !settle_on(root, "/sys/fs/cgroup", g.path, version::two))
      static_cast<void>(settle_on(root, "/sys/fs/cgroup/unified", g.path, version::two));
    line = end == nullptr ? nullptr : end + 1;
  }
}

bool memory_group::settle_on(const char* root, const char* mount, const char* group,
                             version found) noexcept {
  line_writer<path_max> folder;
  folder << root << mount;
  mount_length_ = folder.size();
  folder << group;
  const bool fits = folder.size() + 1 < path_max;  // else it is perhaps cut off
  const std::size_t length = fits ? folder.size() : mount_length_;
  if (length + 1 >= path_max) return false;
  std::memcpy(folder_, folder.data(), length);
  folder_[length] = '\0';
  version_ = found;
  // A group may leave memory to one around it. Where a container sees its own group only, that is
  // the mount itself, whatever the group is called.
  memory_pressure now;
  do {
    if (read(now)) return true;
  } while (leave());
  version_ = version::none;
  return false;
}

bool memory_group::leave() noexcept {
  char* const end = std::strrchr(folder_, '/');
  if (end == nullptr || end < folder_ + mount_length_) return false;
  *end = '\0';
  return true;
}

std::uint64_t memory_group::hard_limit() const noexcept {
  constexpr std::uint64_t none = std::uint64_t{1} << 62;  // version 1 has a number for it
  std::uint64_t least = UINT64_MAX;
  if (version_ == version::none) return least;
  memory_group at = *this;
  do {
    std::uint64_t here = UINT64_MAX;
    at.read_number(version_ == version::one ? "memory.limit_in_bytes" : "memory.max", here);
    least = std::min(least, here);
  } while (at.leave());
  return least < none ? least : UINT64_MAX;
}

bool memory_group::read_file(const char* name, char* text, std::size_t capacity) const noexcept {
  line_writer<path_max + 64> path;
  path << static_cast<const char*>(folder_) << "/" << name << end_of_text;
  const file_text got = read_small_file(path.data(), text, capacity - 1);
  if (got.why != nullptr) return false;
  text[got.size] = '\0';
  return true;
}

void memory_group::read_number(const char* name, std::uint64_t& value) const noexcept {
  char text[64];
  if (read_file(name, text, sizeof text)) static_cast<void>(parse(text, value));  // "max": as it is
}

bool memory_group::read(memory_pressure& out) const noexcept {
  out = {};
  const bool one = version_ == version::one;
  char text[text_max];
  if (version_ == version::none ||
      !read_file(one ? "memory.usage_in_bytes" : "memory.current", text, sizeof text) ||
      !parse(text, out.used_bytes))
    return false;
  if (one) {
    read_number("memory.limit_in_bytes", out.limit_bytes);
    read_number("memory.failcnt", out.limit_hits);
    return true;
  }
  std::uint64_t max = UINT64_MAX;
  read_number("memory.high", out.limit_bytes);
  read_number("memory.max", max);
  out.limit_bytes = std::min(out.limit_bytes, max);
  if (read_file("memory.events", text, sizeof text))
    out.limit_hits = number_in(text, "high ", "") + number_in(text, "max ", "");
  if (read_file("memory.pressure", text, sizeof text))
    out.stalled_us = number_in(text, "some ", "total=");
  return true;
}

}  // namespace ashlar::os
