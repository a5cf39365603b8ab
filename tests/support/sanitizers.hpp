// support/sanitizers.hpp: which sanitizer this program was built with, as constants.
#pragma once

#include <ashlar/core/config.hpp>

namespace support {

using ashlar::address_sanitizer;

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

inline constexpr bool sanitized = address_sanitizer || thread_sanitizer;

#if defined(__OPTIMIZE__)
inline constexpr bool optimized = true;
#else
inline constexpr bool optimized = false;
#endif

}  // namespace support
