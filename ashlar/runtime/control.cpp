// runtime/control.cpp: when the control socket's thread starts and ends.
// Layer: runtime.
#include <cerrno>
#include <cstring>
#include <string_view>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/last_thread.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/process_thread.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit control the_control;
constinit std::atomic<named_heap_request> ask_named_heap{nullptr};

namespace {

/// Answers format numbers, load a library and keep the statistics beside them: more than a small
/// stack.
constexpr std::size_t stack_bytes = std::size_t{256} * 1024;

/// A thread that starts or ends another one waits no longer than this for it.
constexpr unsigned wait_ms_max = 5'000;
constexpr unsigned opening_ms_max = 1'000;  // of a process that ends meanwhile

void copy(const char* from, char* to, std::size_t capacity) noexcept {
  const std::size_t length = from != nullptr ? std::strlen(from) : 0;
  const bool fits = length < capacity;
  if (fits && length != 0) std::memcpy(to, from, length);
  to[fits ? length : 0] = '\0';
}

}  // namespace

bool control::change(state from, state to) noexcept {
  return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

void control::choose(const char* where) noexcept {
  os::note_call_filters();
  const bool is_users_folder = std::strcmp(where, "1") == 0;
  copy(is_users_folder ? nullptr : where, pattern_, sizeof pattern_);
  char** const environment = process_environment();
  copy(environment != nullptr ? find_setting(environment, "XDG_RUNTIME_DIR") : nullptr,
       runtime_folder_, sizeof runtime_folder_);
}

void control::allow(const char* where) noexcept {
  choose(where);
  by_environment_ = true;
  static_cast<void>(change(state::off, state::resting));
}

bool control::start() noexcept {
  // Before the C library is set up, it starts no thread.
  if (os::environment() == nullptr || the_heap.is_sealed()) return false;
  if (!change(state::resting, state::changing)) return false;
  // The system may allocate and free for the thread. Meanwhile the state makes that a plain miss.
  opened_.store(not_yet, std::memory_order_relaxed);
  const bool started = thread_.start(run, stack_bytes);
  state_.store(started ? state::serving : state::off, std::memory_order_release);
  the_last_thread.start_if_needed();
  return started;
}

int control::open(const char* where) noexcept {
  end(state::off);
  if (!change(state::off, state::changing)) return EBUSY;  // another thread opens it, or hangs
  choose(where);
  by_environment_ = false;
  state_.store(state::resting, std::memory_order_release);
  if (!start()) {
    static_cast<void>(change(state::resting, state::off));
    return the_heap.is_sealed() ? EPERM : EAGAIN;
  }
  int result = not_yet;
  for (unsigned waited_ms = 0; waited_ms != wait_ms_max; ++waited_ms) {
    result = opened_.load(std::memory_order_acquire);
    if (result != not_yet) break;
    os::pause_us(1000);
  }
  if (result == 0) return 0;
  end(state::off);
  return result == not_yet ? ETIMEDOUT : result;
}

void control::end(state last) noexcept {
  for (unsigned waited_ms = 0;; ++waited_ms) {
    const state now = state_.load(std::memory_order_relaxed);
    if (now == last || now == state::off || (now == state::resting && change(now, last))) return;
    if (now == state::serving && change(now, state::changing)) break;
    if (waited_ms == wait_ms_max) return;
    os::pause_us(1000);  // another thread starts or stops it
  }
  must_end_.store(true, std::memory_order_release);
  if (opened_.load(std::memory_order_acquire) == 0) socket_.wake();
  if (!thread_.join_within(wait_ms_max)) return;  // for ever in between: nobody starts another
  must_end_.store(false, std::memory_order_relaxed);
  state_.store(last, std::memory_order_release);
}

void control::end_with_process() noexcept {
  const state before = state_.exchange(state::off, std::memory_order_acq_rel);
  if (before == state::off) return;
  must_end_.store(true, std::memory_order_release);
  // The thread may be about to give the socket its name, which nobody would remove then.
  for (unsigned ms = 0; before == state::serving && ms != opening_ms_max; ++ms) {
    if (opened_.load(std::memory_order_acquire) != not_yet) break;
    os::pause_us(1000);
  }
  socket_.remove_name();
}

void control::forget_thread() noexcept {
  if (state_.load(std::memory_order_relaxed) == state::off) return;
  must_end_.store(false, std::memory_order_relaxed);
  socket_.forget();
  is_forked_ = true;
  // What could not be opened was told once.
  const bool failed = opened_.load(std::memory_order_relaxed) > 0;
  state_.store(failed ? state::off : state::resting, std::memory_order_relaxed);
}

// ---- the thread itself --------------------------------------------------------------------------

void control::run() noexcept {
  use_no_cache();
  self.answers = true;
  the_control.open_and_serve();
}

void control::open_and_serve() noexcept {
  const os::control_socket::opening result =
      socket_.open({.pattern = pattern_[0] != '\0' ? pattern_ : nullptr,
                    .runtime_folder = runtime_folder_,
                    .is_forked = is_forked_});
  if (result.error != 0 && by_environment_) complain(result);
  opened_.store(result.error, std::memory_order_release);
  if (result.error == 0) socket_.serve(answer_control, must_end_);
}

void control::complain(const os::control_socket::opening& result) const noexcept {
  if (result.why == nullptr) return;
  line_writer<512> line;
  line << "ashlar: cannot open the control socket " << std::string_view(socket_.path())
       << " (ASHLAR_CONTROL): " << result.why;
  line.end_line();
  os::write_remark(line.data(), line.size());
}

}  // namespace ashlar::runtime
