// misuse/corpus/pools.cpp: the pools of one size, each with every check policy.

#include <tests/misuse/faults.h>

#include <ashlar/freestanding.hpp>

namespace {

using namespace ashlar;

struct object {
  unsigned char bytes[64];
};
constexpr std::size_t block_count = 128;
constexpr block_layout layout = block_layout::of<object>();
using corpus_name = named<"corpus">;

/// A pool whose storage is beside it: the caller's bytes.
template <class Pool>
struct over_bytes {
  alignas(64) std::byte storage[16 * 1024];
  Pool pool;
  explicit over_bytes() : pool(make(storage)) {}

  static Pool make(std::span<std::byte> bytes) {
    if constexpr (requires { Pool(layout, bytes); }) {
      return Pool(layout, bytes);
    } else {
      return Pool(bytes);
    }
  }
};
template <class Pool>
struct by_itself {
  alignas(64) Pool pool;
};

/// A pool, and a place behind it.
template <class Holder>
struct site {
  Holder holder;
  alignas(64) byte behind[bytes_behind_max];
};
template <class Holder>
site<Holder>& the_site() {
  static site<Holder> one;
  return one;
}
template <class Holder>
auto& the_pool() {
  return the_site<Holder>().holder.pool;
}

/// `Reporting` is the same pool with at_death::report.
template <class Holder, class Reporting>
constexpr component blocks_of(const char* name) {
  return {
      .name = name,
      .allocate = [](std::size_t size) -> void* {
        return size == sizeof(object) ? the_pool<Holder>().try_allocate() : nullptr;
      },
      .release = [](void* p) { the_pool<Holder>().deallocate(p); },
      .settle = [] { return the_pool<Holder>().audit(); },
      .is_bounded = true,
      .take_from_another = [](std::size_t) -> void* {
        static Holder other;
        return other.pool.try_allocate();
      },
      .leave_blocks =
          [] {
            const auto ends = std::make_unique<Reporting>();
            for (int i = 0; i < 3; ++i) static_cast<void>(ends->pool.try_allocate());
          },
      .bytes_behind = [] { return the_site<Holder>().behind; },
  };
}

/// Objects instead: create() writes zeros, since it value-initialises them.
template <class Holder, class Reporting>
constexpr component objects_of(const char* name) {
  component c = blocks_of<Holder, Reporting>(name);
  c.allocate = [](std::size_t size) -> void* {
    return size == sizeof(object) ? the_pool<Holder>().create() : nullptr;
  };
  c.release = [](void* p) { the_pool<Holder>().destroy(static_cast<object*>(p)); };
  return c;
}

template <class... Policies>
using fixed = over_bytes<fixed_pool<Policies..., corpus_name>>;
template <class... Policies>
using in_place = by_itself<static_pool<object, block_count, Policies..., corpus_name>>;
template <class... Policies>
using objects = over_bytes<object_pool<object, Policies..., corpus_name>>;

template <template <class...> class Pool, class Check>
constexpr component blocks_checked(const char* name) {
  return blocks_of<Pool<Check>, Pool<Check, at_death::report>>(name);
}
template <template <class...> class Pool, class Check>
constexpr component objects_checked(const char* name) {
  return objects_of<Pool<Check>, Pool<Check, at_death::report>>(name);
}

}  // namespace

const component components[] = {
    blocks_checked<fixed, check::none>("fixed_pool/none"),
    blocks_checked<fixed, check::cheap>("fixed_pool/cheap"),
    blocks_checked<fixed, check::full<>>("fixed_pool/full"),
    blocks_checked<in_place, check::none>("static_pool/none"),
    blocks_checked<in_place, check::cheap>("static_pool/cheap"),
    blocks_checked<in_place, check::full<>>("static_pool/full"),
    objects_checked<objects, check::none>("object_pool/none"),
    objects_checked<objects, check::cheap>("object_pool/cheap"),
    objects_checked<objects, check::full<>>("object_pool/full"),
    {},
};
