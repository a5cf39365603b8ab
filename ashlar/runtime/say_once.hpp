// runtime/say_once.hpp: what a program does wrong again and again is told once.
// Layer: runtime.
#pragma once

#include <atomic>

#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/last_words.hpp>

namespace ashlar::runtime {

/// Effects: writes a line of these parts to standard error, unless `was_said`; from now on it was.
template <class... Parts>
void say_once(std::atomic<detail::exchangeable<bool>>& was_said, const Parts&... parts) noexcept {
  if (was_said.exchange(true, std::memory_order_relaxed)) return;
  line_writer<512> line;
  (line << ... << parts);
  line.end_line();
  os::write_remark(line.data(), line.size());
}

}  // namespace ashlar::runtime
