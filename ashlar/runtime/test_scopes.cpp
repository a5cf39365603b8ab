// runtime/test_scopes.cpp: test scopes begin and end, and tell of forbidden calls.
// Layer: runtime.
#include <cerrno>
#include <cstdlib>
#include <new>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/test_scopes.hpp>

namespace ashlar::runtime {
namespace {

using detail::test_scopes;

/// Effects: the thread counts in `scopes` from now on, and does not hit.
void count_in(test_scopes& scopes) noexcept {
  self.scopes = &scopes;
  self.counts_calls = true;
  if (self.own != nullptr) leave_hit_paths();
}
/// Effects: the thread has scopes from now on, of which none is open, and no hits. Returns: false
/// when the system refuses memory.
[[nodiscard]] bool start_counting() noexcept {
  void* const there = os::page_source::allocate(sizeof(test_scopes), alignof(test_scopes));
  if (there == nullptr) return false;
  // With a cache the thread's end is noticed.
  if (const visit here; here.is_inside()) static_cast<void>(own_cache());
  count_in(*new (there) test_scopes);
  return true;
}
/// Effects: gives back the memory of the thread's scopes. Requires: it has some.
void release_scopes() noexcept {
  self.scopes->~test_scopes();
  os::page_source::deallocate(self.scopes, sizeof(test_scopes), alignof(test_scopes));
}
/// Effects: the thread has no scopes any more, and hits if threads do.
void stop_counting() noexcept {
  self.scopes = nullptr;
  self.counts_calls = false;
  if (self.own != nullptr && is_plain()) enter_hit_paths(*self.own);
}

/// Returns: whether the thread has scopes that do not count now: a report function runs.
[[nodiscard]] bool is_paused() noexcept { return self.counts_calls && self.scopes == nullptr; }

/// Effects: `out` has the scope's figures. Returns: false, with errno, when it is not open in this
/// thread.
[[nodiscard]] bool fill(unsigned scope, ashlar_test_figures& out) noexcept {
  out = {};
  if (self.scopes == nullptr || !self.scopes->is_open(scope)) {
    errno = is_paused() ? EBUSY : EINVAL;
    return false;
  }
  {
    const scopes_paused here;
    const look at;
    here.scopes().forget_freed(is_live);
  }
  self.scopes->figures(scope, out);
  return true;
}

int can_count() noexcept {
  if (!os::heap_is_the_sanitizers() && !is_paused()) return 1;
  errno = is_paused() ? EBUSY : ENOTSUP;
  return 0;
}

unsigned begin(const ashlar_test_rules* rules) noexcept {
  if (can_count() == 0) return 0;
  if (self.scopes == nullptr && !start_counting()) {
    errno = ENOMEM;
    return 0;
  }
  const unsigned scope = self.scopes->begin(rules != nullptr ? *rules : ashlar_test_rules{});
  if (scope == 0) errno = EAGAIN;
  return scope;
}

int figures(unsigned scope, ashlar_test_figures* out) noexcept {
  return fill(scope, *out) ? 0 : -1;
}

int end(unsigned scope, ashlar_test_figures* out) noexcept {
  ashlar_test_figures unused;
  if (!fill(scope, out != nullptr ? *out : unused)) return -1;
  self.scopes->end(scope);
  if (self.scopes->depth() == 0) {
    release_scopes();
    stop_counting();
  }
  return 0;
}

int sees(void (*call)()) noexcept {
  test_scopes own(test_scopes::follow::nothing);
  const unsigned scope = own.begin({});
  test_scopes* const outer = self.scopes;
  count_in(own);
  call();
  ashlar_test_figures f;
  own.figures(scope, f);
  if (outer != nullptr)
    self.scopes = outer;
  else
    stop_counting();
  return static_cast<int>(f.allocations);
}

constexpr ashlar_test_calls own_calls = {ASHLAR_TEST_VERSION, begin, figures, end, can_count, sees};

/// Effects: `text` says which of the `forbidden` kinds the call is, and from where it comes,
/// without the end of the last line.
void write_message(text_writer& text, const ashlar_test_call& what, unsigned forbidden) noexcept {
  constexpr unsigned frames = 8;
  const bool is_free = what.block != nullptr && what.size == 0;
  text << "ashlar: " << what.call << "(";
  if (what.block != nullptr) text << what.block;
  if (what.block != nullptr && !is_free) text << ", ";
  if (!is_free) text << std::uint64_t{what.size};
  text << ") in a scope that forbids "
       << ((forbidden & ASHLAR_TEST_ALLOCATIONS) != 0 ? "allocations" : "frees");
  os::call_stack stack;
  os::capture(stack, frames);
  for (unsigned i = 0; i < stack.depth; ++i) {
    text << "\n";
    os::append_frame(text, i, stack.frames[i]);
  }
}

}  // namespace

void expect_allowed(test_scopes& scopes, unsigned kinds, const char* call, std::size_t size,
                    const void* block) noexcept {
  scopes.for_each_forbidding(kinds, [&](const ashlar_test_rules& rules) {
    char message[4096];
    const ashlar_test_call what{alias_of(call), size, block, message};
    const call_alias what_they_are(nullptr, nullptr);  // the report's own calls
    text_writer text(message, sizeof message - 1);
    write_message(text, what, rules.forbidden & kinds);
    message[text.size()] = '\0';
    if (rules.report != nullptr) return rules.report(&what, rules.context);
    text.end_line();
    os::write_to_stderr(message, text.size());
    std::abort();
  });
}

void end_test_scopes() noexcept {
  if (self.scopes == nullptr) return;
  release_scopes();
  self.scopes = nullptr;
  self.counts_calls = false;
}

const ashlar_test_calls* test_calls() noexcept { return &own_calls; }

}  // namespace ashlar::runtime

// The drop-in library has it by another name (dropin/test_calls.cpp). Here and not in adapt: a
// program refers to it by a weak name, which takes no object out of an archive, so it stands in one
// that every use of the process heap needs.
extern "C" const ashlar_test_calls* ashlar_test_calls_of_libashlar() {
  return ashlar::runtime::test_calls();
}
