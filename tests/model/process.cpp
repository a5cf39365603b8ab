// The process heap, by all its faces: a block that one of them gave, any may take.
#include <cerrno>
#include <tests/model/requests.hpp>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/pmr.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace model {
namespace {

using namespace ashlar;

/// A block that was resized may be of another class than a fresh one of its size: no sized free.
enum how : std::size_t { any_way, by_address };

class process_face {
 public:
  static constexpr std::size_t slots = 6000;
  static constexpr std::size_t most_bytes = std::size_t{24} << 20;
  static constexpr bool reallocates = true;
  static constexpr bool may_refuse = false;
  static constexpr bool frees_all_at_end = false;

  explicit process_face(draw) : before_(audit_stats(true)) {}
  ~process_face() { ashlar_set_purge(1000, 0); }

  static request choose(draw& d, const style& s) { return heap_request(d, s); }
  static bool refusal(const request&, const totals&) { return false; }

  static block allocate(const request& r, draw& d) {
    block b;
    b.size = r.size;
    if (r.alignment > 1) {
      b.alignment = std::max<std::size_t>(r.alignment, 16);
      b.address = d.one_in(2) ? xaligned_alloc(r.alignment, r.size)
                              : pmr::process_resource()->allocate(r.size, r.alignment);
    } else {
      switch (d.below(8)) {
        case 0: {
          const std::size_t count = 1 + d.below(8);
          b.size = r.size / count * count;
          b.address = xcalloc(count, r.size / count);
          const std::size_t dirty =
              b.address == nullptr ? b.size : support::find_nonzero(b.address, b.size);
          require(dirty == b.size, [&] {
            return "calloc: byte " + std::to_string(dirty) + " of " + std::to_string(b.size) +
                   " is not zero";
          });
          break;
        }
        case 1:
          b.address = allocator<std::byte>().allocate(r.size);
          break;
        case 2:
          b.address = xrealloc(nullptr, r.size);
          break;
        default:
          b.address = xmalloc(r.size);
      }
    }
    if (b.address != nullptr) b.usable = xusable_size(b.address);
    return b;
  }

  static block reallocate(const block& old, std::size_t size) {
    block b;
    b.size = size;
    b.address = xrealloc(old.address, size);
    b.origin = by_address;
    if (b.address != nullptr) b.usable = xusable_size(b.address);
    return b;
  }

  static void deallocate(const block& b, draw& d) {
    if (b.origin == by_address || d.one_in(2)) {
      xfree(b.address);
    } else if (b.alignment > 16) {
      pmr::process_resource()->deallocate(b.address, b.size, b.alignment);
    } else if (d.one_in(4)) {
      require(xrealloc(b.address, 0) == nullptr, [] { return "realloc to 0 did not give null"; });
    } else {
      allocator<std::byte>().deallocate(bytes_of(b), b.size);
    }
  }

  static void look(const block& b) {
    require(xusable_size(b.address) == b.usable, [&b] { return "usable size: " + describe(b); });
    require(runtime::holds(b.address), [&b] { return "not its own: " + describe(b); });
  }

  static void rarely(draw d) {
    switch (d.below(64)) {
      case 0:
        ashlar_trim();
        return;
      case 1:
        return ashlar_set_purge(static_cast<std::int64_t>(d.below(4)) * 500 - 1, d.below(1 << 20));
      case 2:
        errno = 0;
        require(xaligned_alloc(3 + d.below(5) * 2, 8) == nullptr && errno == EINVAL,
                [] { return "an alignment that is no power of two"; });
        return;
      case 3:
        audit_stats(false);  // each line holds at any time, whoever else runs
        return;
      case 4:
        errno = 0;
        require(runtime::allocate(absurd_size(d)) == nullptr, [] { return "an absurd size"; });
        return;
      default:
        xfree(nullptr);
        require(xusable_size(nullptr) == 0, [] { return "null has a usable size"; });
    }
  }

  /// No thread is left, so no cache but our own: the figures are exact.
  template <class Subject>
  void audit(const totals& all, const Subject& self) const {
    runtime::the_heap.audit();
    const figures seen = audit_stats(true);
    const auto expect = [](const std::string& what, std::uint64_t is, std::uint64_t should) {
      require(is == should, [&] {
        return what + ": the heap has " + std::to_string(is) + ", the model " +
               std::to_string(should);
      });
    };
    expect("blocks in use", seen.blocks - before_.blocks, all.blocks);
    expect("bytes in use", seen.bytes - before_.bytes, all.bytes);
    if (before_.blocks != 0) return;
    ashlar_stats s;
    ashlar_stats_get(&s);
    expect_by_class(s, self);
  }

 private:
  figures before_;
};

}  // namespace

std::vector<kind> process_kinds() { return {kind_of<process_face>("process", 40, true, true)}; }

}  // namespace model
