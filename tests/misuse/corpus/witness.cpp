// misuse/corpus/witness.cpp
#include "witness.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace corpus {

void say(const char* label, const char* text, const void* address) noexcept {
  char line[256];
  const auto number = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address));
  const int length = address == nullptr
                         ? std::snprintf(line, sizeof line, "| %s %s\n", label, text)
                         : std::snprintf(line, sizeof line, "| %s %s0x%llx\n", label, text, number);
  if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) ::_exit(3);
}

namespace {

// All of a small block. Of a large one the two ends: that is where neighbours write, and 80 blocks of 1 MiB are cheap.
constexpr std::size_t end_bytes = 128;

/// Effects: visit(i) for each index that has the pattern, until it is false.
template <class Visit>
void each_marked(std::size_t size, Visit visit) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    if (i == end_bytes && size > 2 * end_bytes) i = size - end_bytes;
    if (!visit(i)) return;
  }
}

unsigned char pattern(std::size_t i, unsigned char seed) noexcept {
  return static_cast<unsigned char>(i * 7 + seed * 13u + 1);
}

}  // namespace

bool witness::acquire(void* p, std::size_t size) noexcept {
  auto* const begin = static_cast<unsigned char*>(p);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  entry* room = nullptr;
  for (entry& e : entries_) {
    if (e.begin == nullptr) {
      room = &e;
      continue;
    }
    const auto other = reinterpret_cast<std::uintptr_t>(e.begin);
    if (at < other + e.size && other < at + size) {
      damage(at == other ? "two owners of one address: " : "two owners of the bytes at ", p);
      return false;
    }
  }
  if (room == nullptr) {
    say("broken", "the witness has no room for another block");
    ::_exit(3);
  }
  *room = {begin, size, next_seed_++};
  each_marked(size, [&](std::size_t i) {
    begin[i] = pattern(i, room->seed);
    return true;
  });
  return true;
}

void witness::damage(const char* text, const void* address) noexcept {
  say("damage", text, address);
  has_damage_ = true;
}

void witness::forget(const void* p) noexcept {
  for (entry& e : entries_)
    if (e.begin == p) e.begin = nullptr;
}

void witness::verify() noexcept {
  for (entry& e : entries_) {
    if (e.begin == nullptr) continue;
    each_marked(e.size, [&](std::size_t i) {
      if (e.begin[i] == pattern(i, e.seed)) return true;
      damage("another owner's bytes changed at ", e.begin + i);
      e.begin = nullptr;
      return false;
    });
  }
}

bool witness::is_live(const void* p) const noexcept {
  for (const entry& e : entries_)
    if (e.begin == p && p != nullptr) return true;
  return false;
}

}  // namespace corpus
