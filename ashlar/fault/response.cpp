// fault/response.cpp: the report of a fault and what follows it.
// Layer: fault.
//
//   a heap --> ashlar_misuse: go on?  yes --> report [--> the program's function] --> the heap
//                                     no --> ashlar_fault --> report --> the end
//
// No lock is taken: each thread reports by itself, in memory that it maps for the report. So a fork
// finds nothing half done, and a handler of a signal may interrupt a report by one of its own.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/fault/report.hpp>
#include <ashlar/fault/response.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/thread_words.hpp>

namespace ashlar::detail {
namespace {

constinit std::atomic<fault_action> the_action{fault_action::abort};
constinit std::atomic<fault_callback> the_callback{nullptr};
constinit std::atomic<void (*)(void (*)(const void*), const void*)> the_way{nullptr};
constinit std::atomic<bool> set_by_program{false};
/// That the file cannot be written.
constinit std::atomic<detail::exchangeable<bool>> complained{false};
constinit bool writes_json = false;
/// And no text, where the file can be written.
constinit bool writes_file_alone = false;
constinit char file_pattern[fault_path_max] = {};
constinit unsigned stack_depth = 0;

/// A report's texts. Too much for a stack, on which a handler of a signal may have 8 KiB.
struct report_memory {
  char text[32 * 1024];
  char json[32 * 1024];
  char path[fault_path_max + 256];
};

/// As report_memory where the system has no memory: room for the fault without its history.
struct short_memory {
  char text[512];
  char json[1024];
  char path[fault_path_max];
};

const char* reason_of(int error) noexcept {
  switch (error) {
    case EROFS:
      return " (read-only file system)";
    case EACCES:
    case EPERM:
      return " (permission denied)";
    case ENOENT:
      return " (no such folder)";
    case ENOSPC:
#if defined(EDQUOT)
    case EDQUOT:
#endif
      return " (no space left)";
    case ENXIO:
      return " (a pipe that nobody reads)";
    default:
      return "";
  }
}

void complain_of_file(const char* path, int error) noexcept {
  if (complained.exchange(true, std::memory_order_relaxed)) return;
  line_writer<512> line;
  line << "ashlar: cannot write " << std::string_view(path, ::strnlen(path, 300))
       << " (ASHLAR_FAULT_FILE): error " << static_cast<unsigned>(error) << reason_of(error);
  line.end_line();
  os::write_to_stderr(line.data(), line.size());
}

template <class Memory>
void write_report_in(Memory& memory, const fault& what, const fault_history* history,
                     const char* event, const char* action) noexcept {
  text_writer text(memory.text, sizeof memory.text);
  append_text(text, what, history);
  text_writer json(memory.json, sizeof memory.json);
  if (writes_json) append_json(json, what, history, event, action);
  // The file is first: nothing that becomes of standard error can prevent it.
  bool is_in_file = false;
  if (file_pattern[0] != '\0') {
    const text_writer& line = writes_json ? json : text;
    const bool fits = os::expand_path(file_pattern, memory.path, sizeof memory.path);
    const int error =
        fits ? os::append_to_file(memory.path, line.data(), line.size()) : ENAMETOOLONG;
    if (error != 0) complain_of_file(fits ? memory.path : file_pattern, error);
    is_in_file = error == 0;
  }
  if (!is_in_file || !writes_file_alone) os::write_to_stderr(text.data(), text.size());
  if (writes_json && !is_in_file) os::write_to_stderr(json.data(), json.size());
}

/// Effects: writes all that is known of the fault. No action: it is a report, and none follows.
void write_report(const fault& what, const char* event, const char* action) noexcept {
  const fault_history* history = history_of_fault();
  deed found{.call = what.call, .thread = os::thread_number(), .at = {}};
  const fault_history of_call = {.how = "found", .found = &found};
  const bool is_fault = action != nullptr;
  if (is_fault && history == nullptr && stack_depth != 0) {
    os::capture(found.at, stack_depth);
    history = &of_call;
  }
  constexpr std::size_t alignment = 4096;
  void* const memory = os::page_source::allocate(sizeof(report_memory), alignment);
  if (memory != nullptr) {
    write_report_in(*static_cast<report_memory*>(memory), what, history, event, action);
    os::page_source::deallocate(memory, sizeof(report_memory), alignment);
  } else {
    short_memory none;
    write_report_in(none, what, nullptr, event, action);
  }
}

const char* name_of_action(fault_action a) noexcept {
  switch (a) {
    case fault_action::go_on:
      return "continue";
    case fault_action::trap:
      return "trap";
    case fault_action::callback:
      return "callback";
    case fault_action::abort:
      break;
  }
  return "abort";
}

/// Returns: what follows a fault now. A function that the program has not given is not called.
fault_action action_now() noexcept {
  const fault_action a = the_action.load(std::memory_order_acquire);
  const bool can =
      !os::own_words.is_called_back && the_callback.load(std::memory_order_relaxed) != nullptr;
  return a == fault_action::callback && !can ? fault_action::abort : a;
}

void call_program(const void* with) noexcept {
  const auto& info = *static_cast<const ashlar_fault_info*>(with);
  os::own_words.is_called_back = true;
  the_callback.load(std::memory_order_relaxed)(&info);
  os::own_words.is_called_back = false;
}

void call_back(const fault& what, bool goes_on) noexcept {
  const fault_history* const history = history_of_fault();
  const ashlar_fault_info info = {.kind = name_of(what.kind),
                                  .message = describe(what.kind),
                                  .call = what.call,
                                  .address = what.address,
                                  .block_size = what.block_size,
                                  .pool = what.pool,
                                  .block = history != nullptr ? history->block : nullptr,
                                  .goes_on = goes_on ? 1 : 0};
  const auto way = the_way.load(std::memory_order_relaxed);
  way != nullptr ? way(call_program, &info) : call_program(&info);
}

}  // namespace

void respond_to_faults_as(const fault_settings& s) noexcept {
  writes_json = s.json;
  writes_file_alone = s.in_file_alone;
  stack_depth = s.stack_depth;
  if (s.file != nullptr) std::strncpy(file_pattern, s.file, sizeof file_pattern - 1);
  if (!set_by_program.load(std::memory_order_relaxed))
    the_action.store(s.action, std::memory_order_release);
}

void set_fault_action(fault_action action, fault_callback callback) noexcept {
  set_by_program.store(true, std::memory_order_relaxed);
  // Kept where another action has none: a thread may be about to call it.
  if (callback != nullptr) the_callback.store(callback, std::memory_order_relaxed);
  the_action.store(action, std::memory_order_release);
}

void call_back_by(void (*around)(void (*run)(const void*), const void* with)) noexcept {
  the_way.store(around, std::memory_order_relaxed);
}

void end_by_fault(const fault& what) noexcept {
  const fault_action action = action_now();
  const bool traps = action == fault_action::trap;
  write_report(what, "fault", name_of_action(traps ? action : fault_action::abort));
  if (action == fault_action::callback) call_back(what, false);
  if (traps) __builtin_trap();
  std::abort();
}

}  // namespace ashlar::detail

extern "C" void ashlar_misuse(const ashlar::fault& what) noexcept {
  using namespace ashlar::detail;
  const fault_action action = action_now();
  const bool calls = action == fault_action::callback;
  if (ashlar::os::own_words.ends_at_fault || (action != fault_action::go_on && !calls))
    ashlar_fault(what);
  write_report(what, "fault", name_of_action(action));
  if (calls) call_back(what, true);
}

extern "C" void ashlar_report(const ashlar::fault& what) noexcept {
  ashlar::detail::write_report(what, "report", nullptr);
}
