// instance/any_source.hpp: a page source without its type.
// Layer: instance.
#pragma once

#include <cstddef>

namespace ashlar::runtime {

/// A page source without its type. No allocate: the system.
struct any_source {
  void* self = nullptr;
  void* (*allocate)(void* self, std::size_t bytes, std::size_t alignment) noexcept = nullptr;
  void (*deallocate)(void* self, void* p, std::size_t bytes,
                     std::size_t alignment) noexcept = nullptr;
};

}  // namespace ashlar::runtime
