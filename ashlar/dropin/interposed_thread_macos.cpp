// dropin/interposed_thread_macos.cpp: dropin/interposed_thread.hpp.
// Layer: dropin.
#include <ashlar/dropin/interposed_thread.hpp>

namespace ashlar::interposed {

constinit pthread_key_t thread_key = 0;
const char ready = 1;

namespace {

const char away = 0;

void stay_away() noexcept { ::pthread_setspecific(thread_key, &away); }

/// The system resets a key before it calls this. It asks again, a few times, for keys that are set
/// anew.
void on_key_destroyed(void*) noexcept { stay_away(); }

/// Its destructor runs before the loader frees the thread's objects, and after the destructors of
/// those that were used later, which are all others of this library.
struct leaver {
  constexpr leaver() noexcept = default;
  ~leaver() { stay_away(); }
  leaver(const leaver&) = delete;
  leaver& operator=(const leaver&) = delete;

  bool is_there = false;
};
constinit thread_local leaver own_leaver;

/// Early, and in any order with the heap's own constructor: until this ran, the system serves all
/// threads.
[[gnu::constructor(101)]] void start() noexcept {
  pthread_key_t key = 0;
  if (::pthread_key_create(&key, on_key_destroyed) == 0) thread_key = key;
}

}  // namespace

bool make_ready() noexcept {
  if (thread_key == 0 || ::pthread_getspecific(thread_key) == &away) return false;
  stay_away();
  own_leaver.is_there = true;
  return ::pthread_setspecific(thread_key, &ready) == 0;
}

}  // namespace ashlar::interposed
