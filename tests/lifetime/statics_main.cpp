// Static objects of the third file, and what runs at exit beside destructors.
#include <tests/lifetime/busy.hpp>
#include <tests/lifetime/statics.hpp>

namespace {

const statics::holder first{7'000}, second{8'000}, third{9'000};
void* for_exit = nullptr;

__attribute__((constructor)) void before_everything() {
  void* block = face::allocate(77);
  REQUIRE(block != nullptr);
  face::release(block);
}

__attribute__((destructor)) void after_everything() {
  busy::use_every_path(1, 600);
  REQUIRE(statics::alive == 0);
}

}  // namespace

int main() {
  REQUIRE(statics::alive == statics::object_count);
  for_exit = face::allocate(123);
  std::atexit([] {
    face::release(for_exit);
    face::trim();
  });
  thread_local statics::holder of_the_main_thread{10'000};
  (void)of_the_main_thread;
  return 0;
}
