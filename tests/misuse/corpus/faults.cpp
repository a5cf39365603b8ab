// misuse/corpus/faults.cpp: every fault once, over any component.
// Each allocates some blocks, announces its misuse, misuses, and goes on as a program would: more blocks are
// taken, written, verified and given back. What that shows, it says; the runner judges (matrix.py).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

#include <unistd.h>

#include "component.hpp"
#include "witness.hpp"

// A program in the middle of its life: blocks that it holds, and what it does after a fault.
namespace corpus {

inline constexpr std::size_t blocks_before = 16;
inline constexpr std::size_t blocks_after = 64;

class scene {
 public:
  explicit scene(const component& of) noexcept : of_(of) {
    for (void*& b : blocks_) b = obtain();
  }

  [[nodiscard]] std::size_t size() const noexcept { return of_.block_size; }
  [[nodiscard]] void* block(std::size_t i) const noexcept { return blocks_[i]; }
  /// The block that was allocated last: what an arena can take back.
  [[nodiscard]] void* last() const noexcept { return blocks_[blocks_before - 1]; }
  [[nodiscard]] witness& live() noexcept { return live_; }

  /// Returns: a block that is now somebody's, or null.
  void* obtain() noexcept { return note(of_.allocate(size()), size()); }
  /// Effects: `p`, which is free, gets another owner, if that comes within some allocations.
  void obtain_until_live(const void* p) noexcept {
    for (std::size_t i = 0; i < blocks_after && !live_.is_live(p); ++i)
      if (obtain() == nullptr) return;
  }
  /// Effects: a block that the program got is somebody's, and given back at the end.
  void* note(void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return nullptr;
    live_.acquire(p, bytes);
    if (count_ == std::size(owned_)) {
      say("broken", "too many blocks");
      ::_exit(3);
    }
    owned_[count_++] = p;
    return p;
  }
  /// Effects: the owner of `p` lets go of it, without a call.
  void disown(void* p) noexcept {
    live_.forget(p);
    for (std::size_t i = 0; i < count_; ++i) {
      if (owned_[i] != p) continue;
      std::move(owned_ + i + 1, owned_ + count_, owned_ + i);
      --count_;
      return;
    }
  }
  void give_back(void* p) noexcept {
    disown(p);
    of_.release(hidden(p));
  }

  /// Effects: the misuse has returned: the program goes on, and ends in order.
  void go_on() noexcept {
    say("back", "");
    live_.verify();
    for (std::size_t i = 0; i < blocks_after && obtain() != nullptr; ++i) live_.verify();
    // The newest first: an arena takes back no other.
    while (count_ != 0) {
      void* const p = owned_[count_ - 1];
      live_.forget(p);
      --count_;
      of_.release(p);
    }
    settle();
  }
  void settle() noexcept {
    live_.verify();
    if (of_.settle != nullptr && !of_.settle())
      live_.damage("the component's own data are not sound");
  }

 private:
  const component& of_;
  witness live_;
  void* blocks_[blocks_before];
  void* owned_[2 * (blocks_before + blocks_after)];
  std::size_t count_ = 0;
};

}  // namespace corpus

namespace corpus {

void* hidden(void* p) noexcept {
  void* volatile copy = p;
  return copy;
}

namespace {

// Of nobody's allocator; a caller's own, and so live.
alignas(64) std::byte somebody_elses[bytes_behind_max];

void announce(const void* p) noexcept {
  say("next", "", p);
}
void not_applicable(const char* why) noexcept {
  say("inapplicable", why);
}

// ---- writes beyond a block ------------------------------------------------------------------------

/// Two blocks of which nothing that we own lies between: what is written beyond one most likely hits the other, in
/// whatever order an allocator hands them out.
struct neighbours {
  unsigned char* lower;
  unsigned char* upper;
};
neighbours closest(const scene& s) {
  std::uintptr_t sorted[blocks_before];
  for (std::size_t i = 0; i < blocks_before; ++i)
    sorted[i] = reinterpret_cast<std::uintptr_t>(s.block(i));
  std::sort(std::begin(sorted), std::end(sorted));
  std::size_t best = blocks_before / 2;
  for (std::size_t i = 1; i + 2 < blocks_before; ++i)
    if (sorted[i + 1] - sorted[i] < sorted[best + 1] - sorted[best]) best = i;
  return {reinterpret_cast<unsigned char*>(sorted[best]),
          reinterpret_cast<unsigned char*>(sorted[best + 1])};
}

/// Effects: changes `count` bytes from `first` on, all of them, whatever they are.
void change(unsigned char* first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    volatile unsigned char& byte = first[i];
    byte = static_cast<unsigned char>(~byte);
  }
}

void overflow(const component& of, std::size_t count) {
  scene s(of);
  unsigned char* const p = closest(s).lower;
  announce(p);
  change(p + of.block_size, count);
  s.go_on();
}
void overflow_1(const component& of) {
  overflow(of, 1);
}
void overflow_16(const component& of) {
  overflow(of, 16);
}
void underflow_1(const component& of) {
  scene s(of);
  unsigned char* const p = closest(s).upper;
  announce(p);
  change(p - 1, 1);
  s.go_on();
}

// ---- reads beyond a block -------------------------------------------------------------------------

void read_at(unsigned char* address) {
  announce(address);
  static_cast<void>(*static_cast<const volatile unsigned char*>(hidden(address)));
}
void read_behind(const component& of) {
  scene s(of);
  read_at(closest(s).lower + of.block_size);
  s.go_on();
}
void read_before(const component& of) {
  scene s(of);
  read_at(closest(s).upper - 1);
  s.go_on();
}

// ---- reads and writes of freed blocks -------------------------------------------------------------

/// Says what bytes are that had `before` in them.
void say_seen(const unsigned char* now, const unsigned char* before, std::size_t size) {
  std::size_t same = 0;
  std::size_t equal = 1;
  for (std::size_t i = 0; i < size; ++i) same += now[i] == before[i] ? 1u : 0u;
  while (equal < size && now[equal] == now[0]) ++equal;
  if (equal == size) {
    say("seen", now[0] == 0 ? "zeros" : "a fill pattern");
  } else if (same == size) {
    say("seen", "the old bytes");
  } else if (same >= size / 2) {
    say("seen", "the old bytes but for some of the allocator's");
  } else {
    say("seen", "other bytes");
  }
}

void copy(unsigned char* to, const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const volatile unsigned char*>(from);
  for (std::size_t i = 0; i < size; ++i) to[i] = bytes[i];
}

constexpr std::size_t looked_at_max = 128;

void use_after_free_read(const component& of) {
  scene s(of);
  const std::size_t looked_at = std::min(s.size(), looked_at_max);
  unsigned char before[looked_at_max] = {};
  unsigned char now[looked_at_max] = {};
  void* const p = s.last();
  copy(before, p, looked_at);
  s.give_back(p);
  announce(p);
  copy(now, hidden(p), looked_at);
  say_seen(now, before, looked_at);
  s.go_on();
}

void use_after_free_write(const component& of) {
  scene s(of);
  auto* const p = static_cast<unsigned char*>(hidden(s.last()));
  s.give_back(p);
  s.obtain_until_live(p);
  announce(p);
  change(p, s.size());
  s.go_on();
}

void use_after_free_write_idle(const component& of) {
  scene s(of);
  auto* const p = static_cast<unsigned char*>(hidden(s.last()));
  s.give_back(s.block(blocks_before - 2));
  s.give_back(p);
  announce(p);
  change(p, s.size());
  s.go_on();
  if (!s.live().has_damage()) say("harmless", "the bytes of a free block are nobody's");
}

void uninitialised_read(const component& of) {
  scene s(of);
  const std::size_t looked_at = std::min(s.size(), looked_at_max);
  unsigned char before[looked_at_max] = {};
  unsigned char now[looked_at_max] = {};
  void* const p = s.last();
  copy(before, p, looked_at);
  s.give_back(p);
  void* const q = of.allocate(s.size());
  announce(q);
  copy(now, q, looked_at);
  say_seen(now, before, looked_at);
  s.note(q, s.size());
  s.go_on();
}

// ---- frees ----------------------------------------------------------------------------------------

void double_free(const component& of) {
  scene s(of);
  void* const p = s.last();
  s.give_back(p);
  announce(p);
  of.release(hidden(p));
  s.go_on();
}

void double_free_later(const component& of) {
  scene s(of);
  void* freed[6];
  for (std::size_t i = 0; i < std::size(freed); ++i) {
    freed[i] = s.block(blocks_before - 1 - i);
    s.give_back(freed[i]);
  }
  for (int i = 0; i < 3; ++i) s.obtain();
  for (void* p : freed) {
    if (s.live().is_live(p)) continue;
    announce(p);
    of.release(hidden(p));
    return s.go_on();
  }
  not_applicable("every freed block is in use again");
}

void double_free_reused(const component& of) {
  scene s(of);
  void* const p = s.last();
  s.give_back(p);
  s.obtain_until_live(p);
  announce(p);
  of.release(hidden(p));  // the new owner knows nothing of it
  s.go_on();
}

void free_address(const component& of, scene& s, void* p) {
  announce(p);
  of.release(hidden(p));
  s.go_on();
}
void free_interior(const component& of) {
  if (!of.takes_addresses) return not_applicable("a caller passes no address");
  scene s(of);
  free_address(of, s, static_cast<char*>(s.last()) + 16);
}
void free_stack(const component& of) {
  if (!of.takes_addresses) return not_applicable("a caller passes no address");
  scene s(of);
  alignas(64) char on_stack[256];
  s.live().acquire(on_stack + 64, 128);
  free_address(of, s, on_stack + 64);
}
void free_foreign(const component& of) {
  if (of.take_from_another == nullptr) return not_applicable("there is no other of its kind");
  scene s(of);
  void* const p = of.take_from_another(s.size());
  s.live().acquire(p, s.size());
  free_address(of, s, p);
}

// ---- the wrong size ------------------------------------------------------------------------------

/// Returns: whether the component hands out `p` again, sooner or later.
bool comes_back(const component& of, const void* p, std::size_t size) {
  static void* blocks[4096];
  std::size_t count = 0;
  bool found = false;
  constexpr std::size_t bytes_max = std::size_t{256} << 20;
  while (!found && count < std::min(std::size(blocks), bytes_max / size)) {
    void* const q = of.allocate(size);
    if (q == nullptr) break;
    blocks[count++] = q;
    found = q == p;
  }
  while (count != 0) of.release(blocks[--count]);
  return found;
}

/// Effects: after a misuse that means to free `p`: is it free as what it is?
void expect_freed(const component& of, scene& s, const void* p) {
  // Who believed that it is twice as large may serve such a request with it.
  for (int i = 0; i < 8; ++i) s.note(of.allocate(2 * s.size()), 2 * s.size());
  s.live().verify();
  if (!s.live().has_damage() && comes_back(of, p, s.size()))
    say("harmless", "the block was freed as what it is");
  s.go_on();
}

void wrong_size(const component& of) {
  if (of.release_sized == nullptr) return not_applicable("no call is told a size");
  scene s(of);
  void* const p = s.last();
  announce(p);
  s.disown(p);
  of.release_sized(hidden(p), 2 * s.size());
  say("back", "");
  expect_freed(of, s, p);
}

void realloc_freed(const component& of) {
  if (of.reallocate == nullptr) return not_applicable("it has no realloc");
  scene s(of);
  void* const p = s.last();
  s.give_back(p);
  announce(p);
  constexpr std::size_t times = 4;  // so that it has to move
  s.note(of.reallocate(hidden(p), times * s.size()), times * s.size());
  s.go_on();
}

// ---- leaks ----------------------------------------------------------------------------------------

void leak(const component& of) {
  scene s(of);
  announce(s.last());
  say("back", "");
  s.settle();
}
void leak_reported(const component& of) {
  if (of.leave_blocks == nullptr) return not_applicable("it has no such policy");
  say("next", "blocks are left");
  of.leave_blocks();
  say("back", "");
}

// ---- forgery --------------------------------------------------------------------------------------

/// Effects: writes `target` wherever a free block may keep a link.
void forge(const component& of, scene& s, void* target) {
  void* const p = s.last();
  s.give_back(s.block(blocks_before - 2));
  s.give_back(p);
  announce(p);
  auto* const bytes = static_cast<unsigned char*>(hidden(p));
  for (std::size_t i = 0; i + sizeof target <= of.block_size; i += sizeof target) {
    auto* volatile at = bytes + i;
    std::memcpy(at, &target, sizeof target);
  }
  s.go_on();
  if (!s.live().has_damage()) say("harmless", "no free block keeps a link");
}
void forge_foreign(const component& of) {
  scene s(of);
  auto* target = of.bytes_behind != nullptr ? of.bytes_behind() : somebody_elses;
  const std::size_t size = std::min(of.block_size, bytes_behind_max / 2);
  // The attacker knows the distances of blocks: what no check of a remainder finds.
  const auto remainder =
      reinterpret_cast<std::uintptr_t>(s.block(0)) - reinterpret_cast<std::uintptr_t>(target);
  target += remainder % size;
  s.live().acquire(target, size);
  forge(of, s, target);
}
void forge_live(const component& of) {
  scene s(of);
  forge(of, s, s.block(blocks_before / 2));
}

// ---------------------------------------------------------------------------------------------------

/// No misuse: the runner expects silence, which shows that what it hears elsewhere comes of the fault.
void none(const component& of) {
  scene s(of);
  announce(s.last());
  s.give_back(s.last());
  s.go_on();
}

struct fault {
  const char* name;
  void (*commit)(const component& of);
};
constexpr fault faults[] = {
    {"none", none},
    {"overflow_1", overflow_1},
    {"overflow_16", overflow_16},
    {"underflow_1", underflow_1},
    {"read_behind", read_behind},
    {"read_before", read_before},
    {"use_after_free_read", use_after_free_read},
    {"use_after_free_write_idle", use_after_free_write_idle},
    {"use_after_free_write", use_after_free_write},
    {"double_free", double_free},
    {"double_free_later", double_free_later},
    {"double_free_reused", double_free_reused},
    {"free_interior", free_interior},
    {"free_stack", free_stack},
    {"free_foreign", free_foreign},
    {"wrong_size", wrong_size},
    {"realloc_freed", realloc_freed},
    {"leak", leak},
    {"leak_reported", leak_reported},
    {"uninitialised_read", uninitialised_read},
    {"forge_foreign", forge_foreign},
    {"forge_live", forge_live},
};

struct last_word {
  last_word() = default;
  last_word(const last_word&) = delete;
  last_word& operator=(const last_word&) = delete;
  ~last_word() { say("ended", ""); }
};

template <class Named>
const Named* find(const Named* first, std::size_t count, const char* name) {
  for (const Named* n = first; n != first + count; ++n)
    if (std::strcmp(n->name, name) == 0) return n;
  return nullptr;
}

}  // namespace

int run(const component* first, std::size_t count, int argument_count, char** arguments) {
  if (argument_count == 3) {
    const component* const of = find(first, count, arguments[1]);
    const fault* const what = find(faults, std::size(faults), arguments[2]);
    if (of != nullptr && what != nullptr) {
      static const last_word
          at_the_real_end;  // made before the component, and so destroyed after it
      what->commit(*of);
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s COMPONENT FAULT\ncomponents:", arguments[0]);
  for (std::size_t i = 0; i < count; ++i) std::fprintf(stderr, " %s", first[i].name);
  std::fprintf(stderr, "\nfaults:");
  for (const fault& f : faults) std::fprintf(stderr, " %s", f.name);
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace corpus
