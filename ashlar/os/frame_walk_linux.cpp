// os/frame_walk_linux.cpp: os/frame_walk.hpp for x86-64, the one processor for which rules are
// written.
// Layer: os.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>

#include <linux/futex.h>
#include <sys/auxv.h>
#include <time.h>

#include <ashlar/core/config.hpp>
#include <ashlar/os/call_frame_info.hpp>
#include <ashlar/os/code_file.hpp>
#include <ashlar/os/errno_keeper.hpp>
#include <ashlar/os/frame_rule.hpp>
#include <ashlar/os/frame_walk.hpp>
#include <ashlar/os/own_code.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {
namespace {

constexpr std::uintptr_t walk_page_bytes = 4096;

constexpr std::uintptr_t page_of(std::uintptr_t address) {
  return address & ~(walk_page_bytes - 1);
}

bool page_can_be_read(std::uintptr_t page) {
  // The system looks whether the word has another value than this one, and then does not wait.
  // Where it has this value, the wait is over at once. Malloc makes this kind of system call
  // anyway.
  constexpr std::uint32_t unlikely_value = 0x5bd1'e995;
  constexpr timespec no_time = {};
  const errno_keeper keeper;
  return system_call(SYS_futex, page, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, unlikely_value, &no_time,
                     nullptr, 0) == 0 ||
         errno != EFAULT;
}

/// Returns: whether all of it can be read now. A system call a page: what could be read once may be
/// gone.
bool can_be_read(std::uintptr_t begin, std::uintptr_t end) {
  if (begin < walk_page_bytes || end <= begin) return false;
  for (std::uintptr_t page = page_of(begin); page < end; page += walk_page_bytes)
    if (!page_can_be_read(page)) return false;
  return true;
}

}  // namespace

#if defined(__x86_64__)

namespace {

constexpr std::size_t first_place(std::uintptr_t key, unsigned bits) {
  return (key * 0x9e37'79b9'7f4a'7c15u) >> (64 - bits);
}

/// What is known of the places that calls return to. Lock-free: a place belongs to one of them for
/// ever. Its rule comes later, and is replaced at once. Where there is no place left, nothing is
/// kept.
class rule_table {
 public:
  [[nodiscard]] frame_rule find(std::uintptr_t address) const {
    std::size_t i = first_place(address, bits);
    for (unsigned tries = 0; tries < tries_max; ++tries, i = (i + 1) % count) {
      const std::uintptr_t found = __atomic_load_n(&places_[i].address, __ATOMIC_RELAXED);
      if (found == address)
        return std::bit_cast<frame_rule>(__atomic_load_n(&places_[i].rule, __ATOMIC_ACQUIRE));
      if (found == 0) break;
    }
    return {};
  }

  void keep(std::uintptr_t address, frame_rule rule) {
    std::size_t i = first_place(address, bits);
    for (unsigned tries = 0; tries < tries_max; ++tries, i = (i + 1) % count) {
      std::uintptr_t found = 0;
      if (!__atomic_compare_exchange_n(&places_[i].address, &found, address, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
          found != address)
        continue;
      __atomic_store_n(&places_[i].rule, std::bit_cast<std::uint64_t>(rule), __ATOMIC_RELEASE);
      return;
    }
  }

 private:
  struct place {
    std::uintptr_t address;
    std::uint64_t rule;
  };
  static constexpr unsigned bits = 16;  // of 65,536 cc1plus needs 4,805 and python3 2,636
  static constexpr std::size_t count = std::size_t{1} << bits;
  static constexpr unsigned tries_max = 16;
  place places_[count] = {};
};

/// The stack that the system or the C library gave the calling thread: it is there for as long as
/// the thread is. A stack that the program switches to may be gone at any time.
///
/// Its top is known without asking: a thread's thread-locals are above its frames, and above those
/// of the first thread are bytes that the system put there. If every page from there down to a
/// frame can be read, the frame is on this stack: else a page without access is between them.
class own_stack {
 public:
  /// Returns: the end of what can be read from `address`, which can, on.
  [[gnu::always_inline]] std::uintptr_t readable_end(std::uintptr_t address) {
    if (holds(address)) [[likely]]
      return top();
    return grows_to(address) ? top() : page_of(address) + walk_page_bytes;
  }
  /// Returns: whether all of it is known to be on the stack.
  [[nodiscard]] bool holds(std::uintptr_t begin, std::uintptr_t end) const {
    return begin < end && begin >= low() && end <= top();
  }

 private:
  static constexpr std::uintptr_t bytes_max = std::uintptr_t{16}
                                              << 20;  // deeper frames are asked for one by one

  [[nodiscard]] std::uintptr_t top() const {
    return this == first_thread ? first_top : reinterpret_cast<std::uintptr_t>(this);
  }
  [[nodiscard]] std::uintptr_t low() const { return page_of(top()) - pages_ * walk_page_bytes; }
  [[nodiscard]] bool holds(std::uintptr_t address) const {
    return address < top() && address >= low();
  }
  [[gnu::cold, gnu::noinline]] bool grows_to(std::uintptr_t address) {
    if (first_thread == nullptr || address >= top() || top() - address > bytes_max) return false;
    while (address < low() && page_can_be_read(low() - walk_page_bytes)) ++pages_;
    return holds(address);
  }
  /// At start, since a thread that is closed in by a filter of system calls cannot ask who it is.
  [[gnu::constructor]] static void note_first_thread();

  static constinit const own_stack* first_thread;  // null: not known, so no stack is trusted
  static constinit std::uintptr_t first_top;       // above the first thread's frames

  // So many whole pages below the top can be read for as long as the thread lives. Four bytes:
  // static TLS is scarce (thread_words.hpp).
  std::uint32_t pages_ = 0;
};
constinit const own_stack* own_stack::first_thread = nullptr;
constinit std::uintptr_t own_stack::first_top = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local own_stack own;

void own_stack::note_first_thread() {
  if (system_call(SYS_gettid) != system_call(SYS_getpid)) return;
  first_top = ::getauxval(AT_RANDOM);
  first_thread = &own;
}

constinit rule_table rules;

/// Code that was made at run time has no tables. But where the call that returns to `code` is the
/// last thing that its function does, what follows says how the function is left. Python's
/// trampolines (`python3 -X perf`) are such functions.
frame_rule read_epilogue(const unsigned char* code) {
  constexpr unsigned char ret = 0xc3;
  constexpr std::uint32_t word = sizeof(std::uintptr_t);
  const bool is_pop = code[0] == 0x5d && code[1] == ret;  // pop %rbp
  if (is_pop) return {frame_end::from_stack_pointer, 2, stays_loaded, 2 * word};
  const std::uint32_t bytes = code[3];  // add $bytes, %rsp
  const bool is_add = code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[4] == ret;
  if (is_add && bytes < 0x80 && bytes % word == 0)
    return {frame_end::from_stack_pointer, 0, stays_loaded, bytes + word};
  return {.end = frame_end::other};
}

[[gnu::cold, gnu::noinline]] frame_rule learn(std::uintptr_t address) {
  code_file file{};
  if (!find_code_file(address, file)) {
    // Code that was made at run time, about which the runtime may know; or a return address that
    // was overwritten, and where anybody looks at code there would be a fault.
    constexpr std::uintptr_t looked_at = 16;
    if (!can_be_read(address, address + looked_at)) return {.end = frame_end::outermost};
    return read_epilogue(reinterpret_cast<const unsigned char*>(address));
  }
  frame_rule rule = read_rule(file.unwind_table, address);
  rule.file = file.number;
  rules.keep(address, rule);
  return rule;
}

/// Leaves one call after the other.
class walk {
 public:
  enum class result { left, no_caller, no_rule };

  /// Requires: `frame` is a frame address as the compiler has it: the caller's frame pointer, then
  /// the return address.
  explicit walk(const std::uintptr_t* frame)
      : address_(frame[1]),
        stack_pointer_(reinterpret_cast<std::uintptr_t>(frame + 2)),
        frame_pointer_(frame[0]),
        readable_end_(own.readable_end(stack_pointer_ - 1)) {}

  /// Returns: where the last call returns to.
  [[nodiscard]] std::uintptr_t address() const { return address_; }

  [[gnu::always_inline]] result leave() {
    const frame_rule rule = find_rule();
    const std::uintptr_t saved_bytes = rule.saved_frame_pointer * sizeof(std::uintptr_t);
    std::uintptr_t end = 0;
    if (rule.end == frame_end::from_stack_pointer) [[likely]] {
      end = stack_pointer_ + rule.bytes;
    } else if (rule.end == frame_end::from_frame_pointer) {
      end = frame_pointer_ + rule.bytes;
      // It may have been overwritten.
      if (end <= stack_pointer_ || end - stack_pointer_ < saved_bytes || end % sizeof end != 0)
        return result::no_caller;
    } else {
      return rule.end == frame_end::outermost ? result::no_caller : result::no_rule;
    }
    if (end > readable_end_) [[unlikely]] {
      if (!can_be_read(end - std::max(saved_bytes, sizeof(std::uintptr_t)), end))
        return result::no_caller;
      readable_end_ = own.readable_end(end - 1);
    }
    const auto* const behind = reinterpret_cast<const std::uintptr_t*>(end);
    address_ = behind[-1];
    if (rule.saved_frame_pointer != 0) frame_pointer_ = *(behind - rule.saved_frame_pointer);
    stack_pointer_ = end;
    return result::left;
  }

 private:
  frame_rule find_rule() {
    const frame_rule rule = rules.find(address_);
    if (rule.end == frame_end::unknown) [[unlikely]]
      return learn(address_);
    if (rule.file != stays_loaded && rule.file != sure_file_) {
      if (!is_still_loaded(rule.file, address_)) return learn(address_);
      sure_file_ = rule.file;
    }
    return rule;
  }

  std::uintptr_t address_;
  std::uintptr_t stack_pointer_;
  std::uintptr_t frame_pointer_;
  std::uintptr_t readable_end_;
  file_number sure_file_ = stays_loaded;  // the last one that was looked at in this walk
};

}  // namespace

// It has a frame of its own, at which the walk begins.
[[gnu::noinline]] walk_result walk_frames(const void** out, unsigned room) noexcept {
  using result = walk::result;
  walk w(static_cast<const std::uintptr_t*>(__builtin_frame_address(0)));
  unsigned count = 0;
  result last = w.leave();  // the caller's own frame
  for (; last == result::left; last = w.leave()) {
    const auto* const address = reinterpret_cast<const void*>(w.address());
    if (count == 0 && is_own_code(address)) continue;
    if (address == nullptr) break;
    if (count == room) return {count, walk_end::full};
    out[count++] = address;
  }
  if (last != result::no_rule) return {count, walk_end::outermost};
  // All that were wanted are there, and code without rules does not begin a program.
  return {count, count == room ? walk_end::full : walk_end::unknown};
}

bool can_be_read(const void* from, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  return own.holds(begin, begin + bytes) || can_be_read(begin, begin + bytes);
}

#else

walk_result walk_frames(const void**, unsigned) noexcept { return {0, walk_end::unknown}; }

bool can_be_read(const void* from, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  return can_be_read(begin, begin + bytes);
}

#endif

}  // namespace ashlar::os
