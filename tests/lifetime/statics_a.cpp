// Static objects of the first file; its last destructor frees what the second file allocated.
#include <tests/lifetime/statics.hpp>

namespace statics {

constinit int alive = 0;
void* left_by_a = face::allocate(1000);

namespace {
const struct last_word {
  ~last_word() { face::release(left_by_b); }
} frees_for_b;
const holder first{1'000}, second{2'000};
holder third{3'000};
}  // namespace

}  // namespace statics
