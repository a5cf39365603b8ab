// arena/test_source.hpp: a page source that counts what it gave, and refuses when told to.
// Layer: arena (tests only; not installed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <tests/support/require.hpp>
#include <vector>

namespace ashlar_test {

/// Counts pieces and bytes; a piece that comes back with another size or twice is `wrong`.
struct test_source {
  struct piece {
    void* at;
    std::size_t size;
    std::size_t alignment;
  };
  std::vector<piece> pieces;  // in the order in which they were given
  std::size_t bytes = 0, peak = 0;
  std::size_t calls = 0;
  std::size_t wrong = 0;
  std::size_t largest_allowed = PTRDIFF_MAX;  // a sanitizer ends the process for more
  std::size_t bytes_allowed = static_cast<std::size_t>(-1);

  /// Returns: the piece at `p`; all zero: there is none.
  [[nodiscard]] piece piece_at(const void* p) const noexcept {
    for (const piece& each : pieces)
      if (each.at == p) return each;
    return {};
  }
  void* allocate(std::size_t size, std::size_t alignment) noexcept {
    ++calls;
    if (size > largest_allowed || size > bytes_allowed - bytes) return nullptr;
    void* const p = ::operator new(size, std::align_val_t{alignment}, std::nothrow);
    if (p == nullptr) return nullptr;
    std::memset(p, 0xcd, size);
    pieces.push_back({p, size, alignment});
    bytes += size;
    if (bytes > peak) peak = bytes;
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    for (auto i = pieces.begin(); i != pieces.end(); ++i) {
      if (i->at != p) continue;
      if (i->size != size || i->alignment != alignment) ++wrong;
      std::memset(p, 0xdd, i->size);  // would be seen if a byte were still poisoned
      bytes -= i->size;
      ::operator delete(p, std::align_val_t{i->alignment});
      pieces.erase(i);
      return;
    }
    ++wrong;
  }
};

/// The same, which ends the process where not all came back as it was given.
struct checked_source : test_source {
  explicit checked_source(std::size_t allowed = static_cast<std::size_t>(-1)) {
    bytes_allowed = allowed;
  }
  ~checked_source() { REQUIRE(pieces.empty() && wrong == 0); }
};

/// The handle that an arena keeps.
struct test_source_ref {
  test_source* source;
  void* allocate(std::size_t n, std::size_t a) noexcept { return source->allocate(n, a); }
  void deallocate(void* p, std::size_t n, std::size_t a) noexcept { source->deallocate(p, n, a); }
};

}  // namespace ashlar_test
