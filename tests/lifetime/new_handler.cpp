// operator new out of memory, on the drop-in library: bad_alloc, and the std::new_handler protocol:
// call the handler, try again, until it works, throws or there is no handler.
#define PROGRAMS_WITHOUT_MAIN
#define ASHLAR_FACE_DROP_IN
#include <tests/lifetime/program.hpp>

#include <sys/resource.h>

namespace {

// The compiler may leave out a pair of new-expressions, but not direct calls through this pointer.
void* (*volatile allocate)(std::size_t) = ::operator new;

/// Where results go that must not be optimised away together with their allocation.
void* volatile kept = nullptr;

template <class Error, class Call>
bool throws(Call call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  }
  return false;
}

PROGRAM(throws_bad_alloc) {
  void* last = nullptr;  // the list lives in the blocks
  std::size_t count = 0;
  const bool thrown = throws<std::bad_alloc>([&] {
    for (;; ++count) {
      void* block = allocate(100'000);
      std::memcpy(block, &last, sizeof last);
      last = block;
    }
  });
  REQUIRE(thrown);
  REQUIRE(count > 1'000);
  REQUIRE(throws<std::bad_alloc>([] { allocate(200 * mebibyte); }));
  REQUIRE(throws<std::bad_alloc>([] { kept = ::operator new[](200 * mebibyte); }));
  REQUIRE(throws<std::bad_alloc>(
      [] { kept = ::operator new(200 * mebibyte, std::align_val_t{4096}); }));
  kept = ::operator new(200 * mebibyte, std::nothrow);
  REQUIRE(kept == nullptr);
  kept = ::operator new[](200 * mebibyte, std::nothrow);
  REQUIRE(kept == nullptr);
  kept = ::operator new(200 * mebibyte, std::align_val_t{64}, std::nothrow);
  REQUIRE(kept == nullptr);
  while (last != nullptr) {
    void* next = nullptr;
    std::memcpy(&next, last, sizeof next);
    ::operator delete(last);
    last = next;
  }
  ::operator delete(allocate(150 * mebibyte));
}

void* reserve = nullptr;
int handler_calls = 0;

PROGRAM(handler_frees) {
  reserve = allocate(150 * mebibyte);
  std::memset(reserve, 1, 150 * mebibyte);
  std::set_new_handler([] {
    ++handler_calls;
    REQUIRE(reserve != nullptr);
    ::operator delete(reserve);  // takes the heap's locks: none may be held here
    reserve = nullptr;
  });
  void* block = allocate(170 * mebibyte);
  REQUIRE(block != nullptr);
  REQUIRE(handler_calls == 1);
  ::operator delete(block);
  // Small blocks as well, through the path that refills a thread's cache.
  reserve = allocate(120 * mebibyte);
  std::memset(reserve, 1, 120 * mebibyte);
  void* last = nullptr;
  std::size_t count = 0;
  while (reserve != nullptr) {
    block = allocate(1'000);
    std::memcpy(block, &last, sizeof last);
    last = block;
    REQUIRE(++count < 400'000);
  }
  REQUIRE(handler_calls == 2);
  // nothrow asks the handler, too.
  std::set_new_handler([] {
    if (++handler_calls == 10) std::set_new_handler(nullptr);
  });
  handler_calls = 0;
  kept = ::operator new(280 * mebibyte, std::nothrow);
  REQUIRE(kept == nullptr);
  REQUIRE(handler_calls == 10);
}

PROGRAM(handler_throws) {
  struct out_of_luck : std::bad_alloc {};
  std::set_new_handler([] { throw out_of_luck(); });
  REQUIRE(throws<out_of_luck>([] { allocate(400 * mebibyte); }));
  REQUIRE(
      throws<out_of_luck>([] { kept = ::operator new[](400 * mebibyte, std::align_val_t{1024}); }));
  kept = ::operator new(400 * mebibyte, std::nothrow);
  REQUIRE(kept == nullptr);
  std::set_new_handler(nullptr);
  REQUIRE(throws<std::bad_alloc>([] { allocate(SIZE_MAX); }));
  REQUIRE(throws<std::bad_alloc>([] { allocate(static_cast<std::size_t>(PTRDIFF_MAX) + 1); }));
}

}  // namespace

// new_handler MODE limited: the limit is set and the program starts itself again inside it.
int main(int argument_count, char** arguments) {
  if (argument_count == 3) {
    const rlimit small = {300 * mebibyte, 300 * mebibyte};
    REQUIRE(::setrlimit(RLIMIT_AS, &small) == 0);
    char* const again[] = {arguments[0], arguments[1], nullptr};
    REQUIRE(::execv("/proc/self/exe", again) == 0);  // comes back only when it has failed
  }
  return run_program(arguments[1]);
}
