// adapt/c_api.cpp: what adapt/c_api.h adds to xmalloc's family, but for the statistics' texts.
// Layer: adapt.
#include <cerrno>
#include <cstring>
#include <iterator>

#include <ashlar/adapt/c_api.h>
#include <ashlar/fault/response.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/sampling.hpp>
#include <ashlar/runtime/settings.hpp>

using namespace ashlar;

namespace {
/// Returns: 0, or -1 with errno where there is an error.
int result_of(int error) noexcept {
  if (error == 0) return 0;
  errno = error;
  return -1;
}
}  // namespace

extern "C" {

std::size_t ashlar_trim() noexcept { return runtime::trim(); }
void ashlar_set_purge(std::int64_t delay_ms, std::size_t keep_bytes) noexcept {
  runtime::the_heap.set_purge_policy({.delay_ms = delay_ms, .keep_bytes = keep_bytes});
}
int ashlar_background(int on) noexcept { return runtime::set_background(on != 0) ? 1 : 0; }
int ashlar_prefault(std::size_t bytes, unsigned threads) noexcept {
  if (runtime::prefault(bytes, threads)) return 0;
  errno = ENOMEM;
  return -1;
}
void ashlar_seal() noexcept { runtime::the_heap.seal(true); }
void ashlar_unseal() noexcept { runtime::the_heap.seal(false); }
void ashlar_stats_get(ashlar_stats* stats) noexcept { runtime::collect(*stats); }

// The drop-in library exports these, too. Weak there, so that a static program may have both
// libraries.
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

[[gnu::visibility("default"), gnu::weak]] int ashlar_limit(std::size_t bytes) noexcept {
  if (os::heap_is_the_sanitizers()) return result_of(ENOTSUP);
  runtime::the_limit.set(bytes);
  return 0;
}
[[gnu::visibility("default"), gnu::weak]] int ashlar_on_limit(ashlar_limit_callback callback,
                                                              void* argument,
                                                              unsigned percent) noexcept {
  if (os::heap_is_the_sanitizers()) return result_of(ENOTSUP);
  if (percent > 100) return result_of(EINVAL);
  runtime::the_limit.call_back(callback, argument, percent);
  return 0;
}

[[gnu::visibility("default"), gnu::weak]] int ashlar_sample(std::size_t every_bytes) noexcept {
  int error = ENOTSUP;
  if constexpr (is_drop_in) error = runtime::sample(every_bytes);
  return result_of(error);
}
[[gnu::visibility("default"), gnu::weak]] int ashlar_sample_write(const char* path) noexcept {
  int error = ENOTSUP;
  if constexpr (is_drop_in) error = runtime::write_samples(path);
  return result_of(error);
}

[[gnu::visibility("default"), gnu::weak]] int ashlar_control(const char* where) noexcept {
  if (where != nullptr && std::strcmp(where, "0") == 0) {
    runtime::the_control.close();
    return 0;
  }
  if (where == nullptr || !runtime::is_control_place(where)) return result_of(EINVAL);
  return result_of(runtime::the_control.open(where));
}

}  // extern "C"
