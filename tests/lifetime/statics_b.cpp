// Static objects of the second file, one of them local to a function and one thread_local.
#include <tests/lifetime/statics.hpp>

namespace statics {

void* left_by_b = face::allocate(50'000);

holder& late_starter() {
  static holder object{4'000};
  return object;
}

namespace {
const struct last_word {
  ~last_word() { face::release(left_by_a); }
} frees_for_a;
const holder first{5'000};
holder& second = late_starter();
const holder third{6'000};
}  // namespace

}  // namespace statics
