// Static objects of the fifth file: constructors with priorities, before and after the others'.
#include <tests/lifetime/statics.hpp>

namespace statics {

namespace {
[[gnu::init_priority(200)]] const holder early{13'000};
[[gnu::init_priority(65'000)]] const holder late{14'000};
}  // namespace

}  // namespace statics
