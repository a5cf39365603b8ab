// tools/shim/recording_control.cpp: recording that begins and ends while the program runs. Layer:
// shim.
//
// Whoever calls this has loaded the library into a process that runs (dlopen with RTLD_NOW and
// RTLD_LOCAL), or the process was started with it. The library is never unloaded, nor the memory
// unmapped that a recording has used: a thread may stand in either.
#include <atomic>
#include <cerrno>

#include "tools/shim/import_slots.hpp"
#include "tools/shim/log.hpp"
#include "tools/shim/next_allocator.hpp"
#include "tools/shim/process_exit.hpp"
#include "tools/shim/trace_writer.hpp"

namespace ashlar::shim {
namespace {

constinit std::atomic<bool> is_busy{false};
constinit bool watches_exit = false;

class only_one {
 public:
  only_one() : is_first_(!is_busy.exchange(true)) {}
  ~only_one() {
    if (is_first_) is_busy = false;
  }
  only_one(const only_one&) = delete;
  only_one& operator=(const only_one&) = delete;
  [[nodiscard]] bool is_first() const { return is_first_; }

 private:
  bool is_first_;
};

/// While it lives, the calls of this thread are not the program's.
class not_recorded {
 public:
  not_recorded() : was_inside_(own_log.inside) { own_log.inside = true; }
  ~not_recorded() { own_log.inside = was_inside_; }
  not_recorded(const not_recorded&) = delete;
  not_recorded& operator=(const not_recorded&) = delete;

 private:
  bool was_inside_;
};

void end_here() {
  end_recording();
  if (!is_interposed()) restore_slots();
}

int start(const char* file) {
  if (is_on() && has_recorder()) return EBUSY;
  if (is_on()) end_here();  // its recorder is gone
  if (!(is_interposed() ? ready() : prepare_attached())) return ENOEXEC;
  int error = 0;
  if (is_spool(file)) {
    error = begin_recording(file, recording_begin::attached);
  } else {
    char spool_path[spool_path_bytes];
    error = start_writer(file, spool_path);
    if (error == 0) error = begin_recording(spool_path, recording_begin::attached);
    forget_spool(spool_path);
    if (error != 0) stop_writer();
  }
  if (error != 0) return error;
  if (!watches_exit) watch_exit();
  watches_exit = true;
  // First all of them: a birth that is not seen would be a death of a block that nobody knows.
  if (!is_interposed()) divert_slots();
  record_from_now();
  return 0;
}

int stop() {
  if (the_spool == nullptr) return ESRCH;
  const bool was_on = is_on();
  put_untouched_of_living();
  end_here();
  const int error = stop_writer();
  return was_on ? error : ESRCH;
}

int as_c(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace
}  // namespace ashlar::shim

extern "C" {

/// Effects: records this process from now on, with call stacks. `file`: where the trace goes; or the memory of a
/// recorder that runs already. Returns: 0; or -1 and errno: EBUSY: it is being recorded; EPROTO: the
/// recorder is of another version; ENOEXEC: the process has no heap that can be recorded; EIO: the
/// trace cannot be written, and standard error says why; ENOENT: there is no command `ashlar`.
[[gnu::visibility("default")]] int ashlar_record_start(const char* file) {
  using namespace ashlar::shim;
  const only_one one;
  if (!one.is_first()) return as_c(EBUSY);
  const not_recorded own;
  return as_c(start(file));
}

/// Effects: ends the recording. A trace that ashlar_record_start() was told is whole then. Returns:
/// 0; or -1 and errno: ESRCH: nothing is recorded; EIO: the trace was not written.
[[gnu::visibility("default")]] int ashlar_record_stop() {
  using namespace ashlar::shim;
  const only_one one;
  if (!one.is_first()) return as_c(EBUSY);
  const not_recorded own;
  return as_c(stop());
}

}  // extern "C"
