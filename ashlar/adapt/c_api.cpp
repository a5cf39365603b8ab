// adapt/c_api.cpp: what adapt/c_api.h adds to xmalloc's family, but for the statistics' texts.
// Layer: adapt.
#include <cerrno>
#include <iterator>

#include <ashlar/adapt/c_api.h>
#include <ashlar/fault/response.hpp>
#include <ashlar/runtime/process_heap.hpp>

using namespace ashlar;

extern "C" {

std::size_t ashlar_trim() noexcept {
  return runtime::trim();
}
void ashlar_set_purge(std::int64_t delay_ms, std::size_t keep_bytes) noexcept {
  runtime::the_heap.set_purge_policy({.delay_ms = delay_ms, .keep_bytes = keep_bytes});
}
int ashlar_background(int on) noexcept {
  return runtime::set_background(on != 0) ? 1 : 0;
}
int ashlar_prefault(std::size_t bytes, unsigned threads) noexcept {
  if (runtime::prefault(bytes, threads)) return 0;
  errno = ENOMEM;
  return -1;
}
void ashlar_seal() noexcept {
  runtime::the_heap.seal(true);
}
void ashlar_unseal() noexcept {
  runtime::the_heap.seal(false);
}
void ashlar_stats_get(ashlar_stats* stats) noexcept {
  runtime::collect(*stats);
}

// The drop-in library exports it, too. Weak there, so that a static program may have both libraries.
[[gnu::visibility("default"), gnu::weak]] int ashlar_on_fault(
    int action, ashlar_fault_callback callback) noexcept {
  using detail::fault_action;
  constexpr fault_action actions[] = {fault_action::abort, fault_action::go_on, fault_action::trap,
                                      fault_action::callback};
  const auto index = static_cast<unsigned>(action);
  if (index >= std::size(actions) || (action == ASHLAR_FAULT_CALLBACK && callback == nullptr)) {
    errno = EINVAL;
    return -1;
  }
  detail::set_fault_action(actions[index], action == ASHLAR_FAULT_CALLBACK ? callback : nullptr);
  return 0;
}

}  // extern "C"
