// Every form of operator new and operator delete that C++20 has, called by name, and the library
// parts that use them: aligned types, arrays, nothrow, sized deletion. Run with the drop-in library
// preloaded.
#include <tests/support/require.hpp>

#include <malloc.h>

namespace {

void* checked(void* block, std::size_t size, std::size_t alignment) {
  void* volatile hidden = block;  // so that no pair is optimised away
  void* const result = hidden;
  REQUIRE(result != nullptr);
  REQUIRE(reinterpret_cast<std::uintptr_t>(result) % alignment == 0);
  REQUIRE(malloc_usable_size(result) >= size);
  std::memset(result, 0x11, size);
  return result;
}

void plain_forms(std::size_t size) {
  ::operator delete(checked(::operator new(size), size, 16));
  ::operator delete(checked(::operator new(size), size, 16), size);
  ::operator delete(checked(::operator new(size, std::nothrow), size, 16), std::nothrow);
  ::operator delete[](checked(::operator new[](size), size, 16));
  ::operator delete[](checked(::operator new[](size), size, 16), size);
  ::operator delete[](checked(::operator new[](size, std::nothrow), size, 16), std::nothrow);
}

void aligned_forms(std::size_t size, std::size_t bytes) {
  const auto alignment = static_cast<std::align_val_t>(bytes);
  ::operator delete(checked(::operator new(size, alignment), size, bytes), alignment);
  ::operator delete(checked(::operator new(size, alignment), size, bytes), size, alignment);
  ::operator delete(checked(::operator new(size, alignment, std::nothrow), size, bytes), alignment,
                    std::nothrow);
  ::operator delete[](checked(::operator new[](size, alignment), size, bytes), alignment);
  ::operator delete[](checked(::operator new[](size, alignment), size, bytes), size, alignment);
  ::operator delete[](checked(::operator new[](size, alignment, std::nothrow), size, bytes),
                      alignment, std::nothrow);
}

struct alignas(256) over_aligned {
  double values[40] = {};
};

struct base {
  virtual ~base() = default;
  char bytes[24] = {};
};
struct derived : base {
  std::vector<int> numbers = std::vector<int>(1'000, 7);
};

}  // namespace

int main() {
  for (const std::size_t size : {0u, 1u, 16u, 24u, 100u, 1'024u, 10'000u, 40'000u, 3'000'000u}) {
    plain_forms(size);
    for (std::size_t alignment = 1; alignment <= (std::size_t{2} << 20); alignment *= 2) {
      aligned_forms(size, alignment);
    }
  }
  ::operator delete(nullptr);
  ::operator delete[](nullptr, std::align_val_t{64});
  // Blocks of operator new may meet malloc_usable_size and, in old code, free.
  std::unique_ptr<over_aligned[]> array(new over_aligned[37]);
  REQUIRE(reinterpret_cast<std::uintptr_t>(array.get()) % 256 == 0);
  std::vector<over_aligned> grown(5);
  grown.resize(500);
  REQUIRE(reinterpret_cast<std::uintptr_t>(grown.data()) % 256 == 0);
  std::unique_ptr<base> through_base = std::make_unique<derived>();
  std::unique_ptr<derived[]> many(new (std::nothrow) derived[100]);
  REQUIRE(many != nullptr);
  // With 32 bits a system may have room for one byte less.
  volatile std::size_t huge = std::size_t{PTRDIFF_MAX} + 1;
  void* volatile refused = ::operator new(huge, std::nothrow);
  REQUIRE(refused == nullptr);
  bool thrown = false;
  try {
    refused = ::operator new[](huge);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  REQUIRE(thrown);
  thrown = false;
  try {
    volatile std::size_t too_many = SIZE_MAX / 8;
    std::unique_ptr<double[]> impossible(new double[too_many]);
    refused = impossible.get();
  } catch (const std::bad_alloc&) {  // bad_array_new_length is one
    thrown = true;
  }
  REQUIRE(thrown);
  std::puts("operators: well");
  return 0;
}
