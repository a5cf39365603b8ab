// runtime/hardened_secrets.cpp: what the words and the order of a hardened process depend on.
// Layer: runtime.
#include <atomic>
#include <cstdint>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/runtime/process_hardened.hpp>

namespace ashlar::runtime {

constinit detail::block_words hardened_words;
constinit std::uint64_t hardened_seed = 0;

namespace {
constinit std::atomic<bool> drawn_once{false};
}  // namespace

bool has_secrets() noexcept { return drawn_once.load(std::memory_order_relaxed); }

void draw_secrets() noexcept {
  std::uint64_t drawn[4];
  if (!os::fill_with_random_bytes(drawn, sizeof drawn)) {
    // Time, addresses that the system chose, and a counter.
    const auto bits = [](const void* p) -> std::uint64_t {
      return reinterpret_cast<std::uintptr_t>(p);
    };
    std::uint64_t x = os::system_space::now_ms();
    x ^= bits(&x) ^ bits(&hardened_words) << 20 ^ std::uint64_t{os::thread_number()} << 48;
    for (std::uint64_t& d : drawn) {
      x += 0x9e3779b97f4a7c15u;
      d = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
      d = (d ^ d >> 27) * 0x94d049bb133111ebu;
      d ^= d >> 31;
    }
    line_writer<256> line;
    line << "ashlar: the system gives no random numbers now: time and addresses are mixed instead";
    line.end_line();
    os::write_to_stderr(line.data(), line.size());
  }
  hardened_words = detail::block_words({drawn[0], drawn[1] | 1u, drawn[2] | 1u});
  hardened_seed = drawn[3];
  drawn_once.store(true, std::memory_order_release);
}

}  // namespace ashlar::runtime
