// Must not compile for a Cortex-M0.
#include <ashlar/freestanding.hpp>

constinit ashlar::static_pool<int, 4, ashlar::lock_free<std::uint32_t>> pool;
