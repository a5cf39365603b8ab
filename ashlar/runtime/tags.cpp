// runtime/tags.cpp: scopes of tags, which may be gone, are read.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <string_view>

#include <ashlar/check/sampled_blocks.hpp>
#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/os/frame_walk.hpp>
#include <ashlar/runtime/say_once.hpp>
#include <ashlar/runtime/tags.hpp>

namespace ashlar::runtime {

[[gnu::tls_model("initial-exec")]] constinit thread_local const ashlar_tag* innermost_tag = nullptr;

namespace {

[[nodiscard]] bool is_whole(const ashlar_tag* scope) noexcept {
  return os::can_be_read(scope, sizeof *scope) &&
         scope->check == ashlar_tag_check(scope, scope->name);
}

/// As read_own_tag, of that scope.
[[nodiscard]] std::size_t read_tag(const ashlar_tag* scope, char* name, std::size_t room) noexcept {
  if (scope == nullptr || !is_whole(scope) || scope->name == nullptr) return 0;
  constexpr std::uintptr_t page_bytes = 4096;  // at least
  for (std::size_t length = 0;; ++length) {
    const char* const at = scope->name + length;
    if ((length == 0 || reinterpret_cast<std::uintptr_t>(at) % page_bytes == 0) &&
        !os::can_be_read(at, 1))
      return 0;
    if (*at == '\0' || length == room) return *at == '\0' ? length : room + 1;
    name[length] = *at >= ' ' && *at <= '~' ? *at : '?';
  }
}

}  // namespace

void mend_tags(const ashlar_tag* ended) noexcept {
  if (innermost_tag != nullptr && ended == nullptr && !is_whole(innermost_tag))
    innermost_tag = nullptr;
  if (ended == nullptr) return;
  constexpr unsigned looked_at_max = 1000;  // a list with scopes that are gone may have no end
  const ashlar_tag* at = innermost_tag;
  for (unsigned n = 0; at != nullptr && at != ended && n < looked_at_max && is_whole(at); ++n)
    at = at->outer;
  // Where the list breaks off before the scope, it is the caller alone that says that it is open.
  if (at != nullptr) innermost_tag = is_whole(ended) ? ended->outer : nullptr;
  static constinit std::atomic<detail::exchangeable<bool>> was_said{false};
  char name[detail::sampled_tag::name_bytes_max];
  const std::size_t length = std::min(read_tag(ended, name, sizeof name), sizeof name);
  say_once(was_said, "ashlar: a scope of the tag \"", std::string_view(name, length),
           "\" did not end in its turn: end each scope once, the innermost first, in the thread "
           "that began it (ashlar/adapt/tags.h)");
}

std::size_t read_own_tag(char* name, std::size_t room) noexcept {
  return read_tag(innermost_tag, name, room);
}

}  // namespace ashlar::runtime
