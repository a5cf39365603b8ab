// One misuse per mode. Prints the address that is about to be misused, then misuses it. What is
// detected only when the block returns to its slab is followed by a trim or by the end of a thread.
// A mode that comes to its end says so and returns 0: for the driver, a failure.
#include <cstdint>
#include <cstdio>
#include <tests/support/face.hpp>
#include <tests/support/modes.hpp>
#include <thread>
#include <vector>

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
  if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) ::_exit(3);
  void* volatile hidden = address;
  return hidden;
}

void* beyond(void* address, std::size_t bytes) {
  return static_cast<char*>(address) + bytes;
}

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

MODE(free_stack) {
  char on_stack[256] = {1};
  face::release(about_to_misuse(on_stack + 64));
  return not_detected();
}
MODE(free_static) {
  face::release(about_to_misuse(static_bytes + 16));
  return not_detected();
}
MODE(free_wild) {
  face::release(
      about_to_misuse(reinterpret_cast<void*>(static_cast<std::uintptr_t>(0xdeadbeefdead0))));
  return not_detected();
}
MODE(free_low) {  // a null pointer plus the offset of a member
  face::release(about_to_misuse(reinterpret_cast<void*>(std::uintptr_t{16})));
  return not_detected();
}
MODE(free_noncanonical) {
  face::release(about_to_misuse(reinterpret_cast<void*>(~std::uintptr_t{15})));
  return not_detected();
}
MODE(free_tagged) {  // some processors ignore the top byte of an address; the heap does not
  constexpr unsigned shift = 8 * (sizeof(std::uintptr_t) - 1);
  const auto address = reinterpret_cast<std::uintptr_t>(face::allocate(64));
  face::release(about_to_misuse(reinterpret_cast<void*>(address ^ std::uintptr_t{0x5a} << shift)));
  return not_detected();
}
MODE(free_interior) {
  void* block = face::allocate(64);
  face::release(about_to_misuse(beyond(block, 16)));
  face::trim();
  return not_detected();
}
MODE(free_interior_push_out) {
  void* block = face::allocate(64);
  face::release(about_to_misuse(beyond(block, 16)));
  push_out(64);
  face::trim();
  return not_detected();
}
MODE(free_misaligned) {
  void* block = face::allocate(64);
  face::release(about_to_misuse(beyond(block, 1)));
  face::trim();
  return not_detected();
}
MODE(free_interior_in_thread) {
  std::thread([] {
    void* block = face::allocate(500);
    face::release(about_to_misuse(beyond(block, 32)));
  }).join();
  face::trim();
  return not_detected();
}
MODE(double_free) {
  void* block = about_to_misuse(face::allocate(64));
  face::release(block);
  face::release(block);
  face::trim();
  return not_detected();
}
// Nothing follows these but an end at once: the call itself has to see the misuse.
[[noreturn]] int end_at_once() {
  ::_exit(not_detected());
}
MODE(double_free_at_once) {
  void* block = about_to_misuse(face::allocate(64));
  face::release(block);
  face::release(block);
  end_at_once();
}
MODE(free_interior_at_once) {
  face::release(about_to_misuse(beyond(face::allocate(4096), 16)));
  end_at_once();
}
MODE(free_misaligned_at_once) {
  face::release(about_to_misuse(beyond(face::allocate(48), 8)));
  end_at_once();
}
MODE(double_free_after_others) {
  void* blocks[50];
  for (void*& block : blocks) block = face::allocate(100);
  void* twice = about_to_misuse(blocks[20]);
  for (void* block : blocks) face::release(block);
  face::release(twice);
  face::trim();
  return not_detected();
}
MODE(double_free_push_out) {
  void* blocks[50];
  for (void*& block : blocks) block = face::allocate(100);
  void* twice = about_to_misuse(blocks[20]);
  face::release(twice);
  push_out(48);
  face::release(twice);
  push_out(100);
  face::trim();
  return not_detected();
}
MODE(double_free_after_trim) {  // the block has been back in its slab for long
  void* keeps_slab = face::allocate(100);
  void* block = about_to_misuse(face::allocate(100));
  face::release(block);
  face::trim();
  face::release(block);
  face::trim();
  face::release(keeps_slab);
  return not_detected();
}
MODE(double_free_in_two_threads) {
  void* keeps_slab = face::allocate(300);
  void* block = about_to_misuse(face::allocate(300));
  for (int i = 0; i < 2; ++i) std::thread([block] { face::release(block); }).join();
  face::trim();
  face::release(keeps_slab);
  return not_detected();
}
MODE(double_free_large) {
  void* block = about_to_misuse(face::allocate(mebibyte));
  face::release(block);
  face::release(block);
  face::trim();
  return not_detected();
}
MODE(double_free_huge) {
  void* block = about_to_misuse(face::allocate(200 * mebibyte));
  face::release(block);
  face::release(block);
  face::trim();
  return not_detected();
}
MODE(free_interior_large) {
  void* block = face::allocate(mebibyte);
  face::release(about_to_misuse(beyond(block, 4096)));
  face::trim();
  return not_detected();
}
MODE(free_interior_large_unit) {
  void* block = face::allocate(mebibyte);
  face::release(about_to_misuse(beyond(block, 65'536)));
  face::trim();
  return not_detected();
}
MODE(free_interior_huge) {
  void* block = face::allocate(200 * mebibyte);
  face::release(about_to_misuse(beyond(block, 100 * mebibyte)));
  face::trim();
  return not_detected();
}
MODE(realloc_static) {
  void* block = face::reallocate(about_to_misuse(static_bytes), 1'000);
  return block == nullptr ? 4 : not_detected();
}
MODE(realloc_wild) {
  void* block = face::reallocate(
      about_to_misuse(reinterpret_cast<void*>(static_cast<std::uintptr_t>(0xdeadbeefdead0))), 9);
  return block == nullptr ? 4 : not_detected();
}
MODE(realloc_interior) {
  void* block = face::reallocate(about_to_misuse(beyond(face::allocate(64), 16)), 30'000);
  face::trim();
  return block == nullptr ? 4 : not_detected();
}
MODE(realloc_freed) {
  void* keeps_slab = face::allocate(64);
  void* block = about_to_misuse(face::allocate(64));
  face::release(block);
  face::trim();
  void* moved = face::reallocate(block, 3'000);
  face::trim();
  face::release(keeps_slab);
  return moved == nullptr ? 4 : not_detected();
}
MODE(realloc_freed_in_place) {
  void* block = about_to_misuse(face::allocate(64));
  face::release(block);
  void* stayed = face::reallocate(block, 60);
  return stayed == nullptr ? 4 : not_detected();
}
MODE(realloc_interior_in_place) {
  void* block = face::reallocate(about_to_misuse(beyond(face::allocate(64), 16)), 60);
  return block == nullptr ? 4 : not_detected();
}
MODE(realloc_freed_large) {
  void* block = about_to_misuse(face::allocate(mebibyte));
  face::release(block);
  void* moved = face::reallocate(block, 3 * mebibyte);
  face::trim();
  return moved == nullptr ? 4 : not_detected();
}
MODE(usable_size_static) {
  return face::usable_size(about_to_misuse(static_bytes)) == 1 ? 4 : not_detected();
}
MODE(usable_size_wild) {
  void* wild = reinterpret_cast<void*>(static_cast<std::uintptr_t>(0xdeadbeefdead0));
  return face::usable_size(about_to_misuse(wild)) == 1 ? 4 : not_detected();
}
MODE(usable_size_stack) {
  char on_stack[64] = {1};
  return face::usable_size(about_to_misuse(on_stack)) == 1 ? 4 : not_detected();
}

// Not a misuse: the driver expects this one to end well, which shows that it looks at all.
MODE(none) {
  void* block = about_to_misuse(face::allocate(64));
  face::release(block);
  push_out(64);
  face::trim();
  return not_detected();
}

}  // namespace
