// bench/workloads/calls.hpp: the calls into the allocator under test, and what is written to the
// blocks: a first word as a constructor would, a byte in each page, or a mark that is checked later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace bench {

[[noreturn]] void fail(const char* message);

// The empty asm hides where the address came from, so that no compiler may pair the malloc with its
// free and drop both; the program is built with -fno-builtin for the same reason.
inline void* opaque(void* block) {
  asm volatile("" : "+r"(block));
  return block;
}
inline void* given(void* block, const char* refusal) {
  block = opaque(block);
  if (block == nullptr) [[unlikely]]
    fail(refusal);
  return block;
}
inline void* take(std::size_t size_bytes) {
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyser loses the address in the asm
  return given(std::malloc(size_bytes), "malloc returned null");
}
inline void* take_zeroed(std::size_t size_bytes) {
  return given(std::calloc(1, size_bytes), "calloc returned null");
}
inline void* resize(void* old, std::size_t size_bytes) {
  return given(std::realloc(old, size_bytes), "realloc returned null");
}
inline void give(void* block) { std::free(block); }

// Writes the first word, as a constructor would.
inline void touch_first(void* block, std::uint64_t value = 1) {
  *static_cast<volatile std::uint64_t*>(block) = value;
}
inline std::uint64_t first_word(const void* block) {
  return *static_cast<const volatile std::uint64_t*>(block);
}
inline constexpr std::size_t page_bytes = 4096;
// Writes one byte in each page of [from, to), offsets in bytes.
inline void touch_pages(void* block, std::size_t from, std::size_t to) {
  auto* bytes = static_cast<volatile unsigned char*>(block);
  for (std::size_t at = from; at < to; at += page_bytes) bytes[at] = 1;
}

// Marks of a block of 8 bytes .. 4 GiB: identity and size in the first word, their complement in
// the last whole one. Blocks that overlap spoil each other's marks when each holder's identity is
// its own.
inline volatile std::uint64_t& last_word(void* block, std::size_t size_bytes) {
  return static_cast<volatile std::uint64_t*>(block)[size_bytes / sizeof(std::uint64_t) - 1];
}
inline void mark(void* block, std::size_t size_bytes, std::size_t identity) {
  const std::uint64_t word = std::uint64_t{identity} << 32 | size_bytes;
  if (size_bytes > page_bytes) touch_pages(block, page_bytes, size_bytes);
  if (size_bytes >= 2 * sizeof word) last_word(block, size_bytes) = ~word;
  touch_first(block, word);
}
inline std::size_t marked_size(const void* block) {
  return static_cast<std::uint32_t>(first_word(block));
}
inline std::size_t marked_identity(const void* block) {
  return static_cast<std::size_t>(first_word(block) >> 32);
}
// Ends the process when the marks are not those of `identity`.
inline void check_mark(void* block, std::size_t identity) {
  const std::uint64_t word = first_word(block);
  const std::size_t size_bytes = marked_size(block);
  if (word >> 32 != identity || size_bytes < sizeof word ||
      (size_bytes >= 2 * sizeof word && last_word(block, size_bytes) != ~word)) [[unlikely]]
    fail("a live block's content has changed");
}

}  // namespace bench
