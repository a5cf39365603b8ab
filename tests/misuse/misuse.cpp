// One misuse a program. Says which address is about to be misused, then misuses it. What is
// detected only when the block returns to its slab is followed by a trim or by the end of a thread.
// A program that comes to its end says so and returns 0: for the driver, a failure.
#include <cstdint>
#include <tests/support/face.hpp>
#include <thread>
#include <vector>

#include <tests/support/programs.h>
#include <unistd.h>

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
char static_bytes[4096];

/// Announces the misuse and hides the pointer from the compiler, which would warn or optimise.
void* about_to_misuse(void* address) {
  char line[64];
  const int length =
      std::snprintf(line, sizeof line, "misused: 0x%llx\n",
                    static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)));
  if (::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) != length) ::_exit(3);
  void* volatile hidden = address;
  return hidden;
}

void* beyond(void* address, std::size_t bytes) { return static_cast<char*>(address) + bytes; }

/// Frees more blocks of the size than a cache holds, so that what was freed before is pushed out.
void push_out(std::size_t size) {
  std::vector<void*> blocks(20'000);
  for (void*& block : blocks) block = face::allocate(size);
  for (void* block : blocks) face::release(block);
}

int not_detected() {
  std::puts("the misuse was not detected");
  return 0;
}
// For a misuse that the call itself has to see: nothing follows but an end at once.
[[noreturn]] void end_at_once() { ::_exit(not_detected()); }

#define MISUSE(name, ...) \
  PROGRAM(name) {         \
    __VA_ARGS__;          \
    not_detected();       \
  }

// ---- what is no block, or no block's begin

void* address(std::uintptr_t number) { return reinterpret_cast<void*>(number); }
constexpr auto nowhere = static_cast<std::uintptr_t>(0xdeadbeefdead0);

void free_of(void* p) { face::release(about_to_misuse(p)); }
void free_inside(std::size_t size, std::size_t offset) {
  free_of(beyond(face::allocate(size), offset));
}

MISUSE(free_stack, char on_stack[256] = {1}; free_of(on_stack + 64))
MISUSE(free_static, free_of(static_bytes + 16))
MISUSE(free_wild, free_of(address(nowhere)))
MISUSE(free_low, free_of(address(16)))  // a null pointer plus the offset of a member
MISUSE(free_noncanonical, free_of(address(~std::uintptr_t{15})))
PROGRAM(free_tagged) {  // some processors ignore the top byte of an address; the heap does not
  constexpr unsigned shift = 8 * (sizeof(std::uintptr_t) - 1);
  const auto begin = reinterpret_cast<std::uintptr_t>(face::allocate(64));
  free_of(address(begin ^ std::uintptr_t{0x5a} << shift));
  not_detected();
}
MISUSE(free_interior, free_inside(64, 16); face::trim())
MISUSE(free_interior_push_out, free_inside(64, 16); push_out(64); face::trim())
MISUSE(free_misaligned, free_inside(64, 1); face::trim())
MISUSE(free_interior_in_thread, std::thread(free_inside, 500, 32).join(); face::trim())
MISUSE(free_interior_at_once, free_inside(4096, 16); end_at_once())
MISUSE(free_misaligned_at_once, free_inside(48, 8); end_at_once())
MISUSE(free_interior_large, free_inside(mebibyte, 4096); face::trim())
MISUSE(free_interior_large_unit, free_inside(mebibyte, 65'536); face::trim())
MISUSE(free_interior_huge, free_inside(200 * mebibyte, 100 * mebibyte); face::trim())

// ---- a block that is free already

void free_twice(std::size_t size) {
  void* block = about_to_misuse(face::allocate(size));
  face::release(block);
  face::release(block);
}

MISUSE(double_free, free_twice(64); face::trim())
MISUSE(double_free_at_once, free_twice(64); end_at_once())
MISUSE(double_free_large, free_twice(mebibyte); face::trim())
MISUSE(double_free_huge, free_twice(200 * mebibyte); face::trim())
PROGRAM(double_free_after_others) {
  void* blocks[50];
  for (void*& block : blocks) block = face::allocate(100);
  void* twice = about_to_misuse(blocks[20]);
  for (void* block : blocks) face::release(block);
  face::release(twice);
  face::trim();
  not_detected();
}
PROGRAM(double_free_push_out) {
  void* blocks[50];
  for (void*& block : blocks) block = face::allocate(100);
  void* twice = about_to_misuse(blocks[20]);
  face::release(twice);
  push_out(48);
  face::release(twice);
  push_out(100);
  face::trim();
  not_detected();
}
PROGRAM(double_free_after_trim) {  // the block has been back in its slab for long
  void* keeps_slab = face::allocate(100);
  void* block = about_to_misuse(face::allocate(100));
  face::release(block);
  face::trim();
  face::release(block);
  face::trim();
  face::release(keeps_slab);
  not_detected();
}
PROGRAM(double_free_in_two_threads) {
  void* keeps_slab = face::allocate(300);
  void* block = about_to_misuse(face::allocate(300));
  for (int i = 0; i < 2; ++i) std::thread([block] { face::release(block); }).join();
  face::trim();
  face::release(keeps_slab);
  not_detected();
}

// ---- other calls

int realloc_of(void* p, std::size_t size) {
  return face::reallocate(about_to_misuse(p), size) == nullptr ? 4 : not_detected();
}
int realloc_of_freed(std::size_t size, std::size_t new_size) {
  void* keeps_slab = face::allocate(size);
  void* block = face::allocate(size);
  face::release(block);
  if (new_size > size) face::trim();  // else its memory is asked for where it rests
  const int result = realloc_of(block, new_size);
  face::release(keeps_slab);
  return result;
}
int usable_size_of(void* p) {
  return face::usable_size(about_to_misuse(p)) == 1 ? 4 : not_detected();
}

#define ENDS_WITH(name, ...) \
  PROGRAM(name) { std::exit(__VA_ARGS__); }
ENDS_WITH(realloc_static, realloc_of(static_bytes, 1'000))
ENDS_WITH(realloc_wild, realloc_of(address(nowhere), 9))
ENDS_WITH(realloc_interior, realloc_of(beyond(face::allocate(64), 16), 30'000))
ENDS_WITH(realloc_interior_in_place, realloc_of(beyond(face::allocate(64), 16), 60))
ENDS_WITH(realloc_freed, realloc_of_freed(64, 3'000))
ENDS_WITH(realloc_freed_in_place, realloc_of_freed(64, 60))
ENDS_WITH(realloc_freed_large, realloc_of_freed(mebibyte, 3 * mebibyte))
ENDS_WITH(usable_size_static, usable_size_of(static_bytes))
ENDS_WITH(usable_size_wild, usable_size_of(address(nowhere)))
PROGRAM(usable_size_stack) {
  char on_stack[64] = {1};
  std::exit(usable_size_of(on_stack));
}

// Not a misuse: the driver expects this one to end well, which shows that it looks at all.
PROGRAM(none) {
  void* block = about_to_misuse(face::allocate(64));
  face::release(block);
  push_out(64);
  face::trim();
  not_detected();
}

}  // namespace
