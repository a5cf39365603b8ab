// lifetime/addresses.hpp: a program that limits its own addresses, and what it then asks the system for.
#pragma once

#include <tests/support/face.hpp>
#include <tests/support/require.hpp>
#include <thread>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace addresses {

inline constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A list of blocks that lives in the blocks: a program that is out of memory has no other place.
class hoard {
 public:
  /// Effects: adds blocks of `size` until null, which must be a proper one, or until it has `most` bytes.
  /// Returns: the bytes it has.
  std::size_t fill(std::size_t size, std::size_t most = SIZE_MAX) {
    while (bytes_ < most && grow(size)) {
    }
    return bytes_;
  }
  /// Returns: whether there was one more block, written to at both ends.
  bool grow(std::size_t size) {
    errno = 0;
    void* const block = face::allocate(size);
    if (block == nullptr) {
      REQUIRE(errno == ENOMEM);
      return false;
    }
    std::memset(static_cast<char*>(block) + size - 1, 0x77, 1);
    first_ = new (block) link{first_, size};
    bytes_ += size;
    return true;
  }
  void drop() {
    while (first_ != nullptr) {
      link* const next = first_->next;
      REQUIRE(first_->size <= sizeof(link) ||
              reinterpret_cast<unsigned char*>(first_)[first_->size - 1] == 0x77);
      face::release(first_);
      first_ = next;
    }
    bytes_ = 0;
  }

 private:
  struct link {
    link* next;
    std::size_t size;
  };
  link* first_ = nullptr;
  std::size_t bytes_ = 0;
};

inline void limit_to(std::size_t bytes) {
  // First the stack grows: where the limit forbids that, the system ends the program by SIGSEGV.
  volatile char stack[256 * 1024];
  for (std::size_t i = 0; i < sizeof stack; i += 4096) stack[i] = 0;
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = bytes;
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
}

/// Mappings, threads, files and libraries: what glibc maps for itself and for its callers.
inline void use_the_system() {
  constexpr std::size_t bytes = 32 * mebibyte;
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  REQUIRE(::munmap(mapped, bytes) == 0);
  for (int i = 0; i < 3; ++i) {
    std::thread([] { face::release(face::allocate(1'000)); }).join();
  }
  std::FILE* const file = std::fopen("/dev/null", "we");
  REQUIRE(file != nullptr && std::fputs("text", file) >= 0);
  std::fclose(file);
  void* const library = ::dlopen("libutil.so.1", RTLD_NOW);
  if (library != nullptr) ::dlclose(library);  // it may not be installed
}

inline constexpr std::size_t limit = 512 * mebibyte;

/// A program with 512 MiB of addresses, set by itself after it has started.
inline void live_under_limit() {
  limit_to(limit);
  use_the_system();
  for (const std::size_t size : {std::size_t{100}, std::size_t{20'000}, 2 * mebibyte}) {
    hoard all;
    const std::size_t reached = all.fill(size);
    std::printf("blocks of %zu: %zu MiB until null\n", size, reached / mebibyte);
    REQUIRE(reached > limit / 5 * 3 && reached < limit);
    all.drop();
    face::trim();
    use_the_system();  // what was freed is others' as well
  }
}

}  // namespace addresses
