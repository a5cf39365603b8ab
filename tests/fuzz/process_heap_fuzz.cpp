// The process heap through xmalloc and its kin, and C++'s sized free, as one thread calls them.
// The heap outlives an input, so each gives back all that it got.
#include <cerrno>
#include <tests/fuzz/input.hpp>
#include <tests/model/model.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/require.hpp>

#include <ashlar/ashlar.h>
#include <ashlar/runtime/process_heap.hpp>

namespace {

using namespace ashlar;

constexpr std::size_t most_bytes = std::size_t{24} << 20;
enum how : std::size_t { by_address, by_size };

class program {
 public:
  explicit program(fuzz::input in) : in_(in) {}

  void run() {
    while (!in_.empty()) step();
    while (!shadow_.empty()) free(shadow_.take_last());
    ashlar_unseal();
    ashlar_set_purge(1000, 0);
  }

 private:
  void step() {
    const std::size_t what = in_.below(16);
    if (what < 7) {
      if (shadow_.bytes() < most_bytes) allocate(what);
    } else if (what < 10) {
      if (!shadow_.empty()) reallocate();
    } else if (what < 15) {
      if (!shadow_.empty()) free(shadow_.take_any(in_));
    } else {
      rarely();
    }
  }

  void allocate(std::size_t kind) {
    const std::size_t size = fuzz::request_size(in_);
    if (kind < 4) return add(xmalloc(size), size, 16, by_size);
    if (kind == 4) {
      const std::size_t count = 1 + in_.below(16);
      auto* const p = static_cast<std::byte*>(xcalloc(count, size / count));
      const std::size_t zeroed = size / count * count;
      REQUIRE(p == nullptr || support::find_nonzero(p, zeroed) == zeroed);
      return add(p, zeroed, 16, by_size);
    }
    const std::size_t alignment = fuzz::request_alignment(in_);
    add(xaligned_alloc(alignment, size), size, alignment, by_size);
  }

  void add(void* p, std::size_t size, std::size_t alignment, how origin) {
    if (p == nullptr) {
      REQUIRE(errno == ENOMEM);
      REQUIRE(sealed_);  // nothing here asks for more than any machine has
      return;
    }
    shadow_.add(p, size, xusable_size(p), std::max<std::size_t>(alignment, 16), origin);
  }

  void reallocate() {
    const support::live_block old = shadow_.take_any(in_);
    const std::size_t size = in_.chance(70) ? fuzz::request_size(in_) : old.size + in_.below(64);
    void* const p = xrealloc(old.address, size);
    if (size == 0) {
      REQUIRE(p == nullptr);
    } else if (p == nullptr) {
      REQUIRE(errno == ENOMEM && sealed_);
      shadow_.insert(old);
    } else {
      support::live_blocks<>::verify(old, p, std::min(old.size, size));
      // It may have stayed where a smaller block would not have come from: no sized free.
      shadow_.add(p, size, xusable_size(p), 16, by_address);
    }
  }

  void free(const support::live_block& b) {
    if (b.origin == by_address || in_.chance(50)) return xfree(b.address);
    if (b.alignment <= 16) return runtime::deallocate_sized(b.address, b.size, "sized free");
    runtime::deallocate_sized_slow(b.address, b.size, b.alignment, "sized free");
  }

  void rarely() {
    switch (in_.below(8)) {
      case 0:
        ashlar_trim();
        return;
      case 1:
        return ashlar_set_purge(static_cast<std::int64_t>(in_.below(3)) - 1, in_.below(1 << 20));
      case 2:
        ashlar_seal();
        sealed_ = true;
        return;
      case 3:
        ashlar_unseal();
        sealed_ = false;
        return;
      case 4:
        return shadow_.verify_all();
      case 5:
        errno = 0;
        REQUIRE(runtime::allocate(fuzz::absurd_size(in_)) == nullptr);
        return;
      case 6:
        errno = 0;
        REQUIRE(xaligned_alloc(3 + in_.below(5) * 2, 8) == nullptr && errno == EINVAL);
        return;
      default:
        xfree(nullptr);
        REQUIRE(xusable_size(nullptr) == 0);
    }
  }

  fuzz::input in_;
  support::live_blocks<> shadow_;
  bool sealed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const model::figures before = model::audit_stats(true);
  program(fuzz::input({data, size})).run();
  const model::figures after = model::audit_stats(true);
  REQUIRE(after.blocks == before.blocks);
  REQUIRE(after.bytes == before.bytes);
  static unsigned inputs = 0;
  if (++inputs % 64 == 0) runtime::the_heap.audit();  // O(pages), and the heap is never small again
  return 0;
}
