// Random programs over every kind of arena, against a model that is a list of blocks.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <tests/support/random.hpp>
#include <tests/support/type_lists.hpp>

#include <gtest/gtest.h>

#include <ashlar/arena/test_model.hpp>

namespace {

using namespace ashlar;
using namespace ashlar_test;

template <class Kind>
class AnyArena : public testing::Test {};
using kinds = support::types<
    testing::Types<
        on_storage<20000>, on_storage<5000, std::mutex>, on_storage<0>, on_storage<7>,
        inside<3000, spin_lock, counting::none>, inside<0>, on_chunks<arena_growth{}, SIZE_MAX>,
        on_chunks<arena_growth{.first_chunk_bytes = 0, .max_chunk_bytes = 0}, SIZE_MAX>,
        on_chunks<arena_growth{
                      .first_chunk_bytes = 256, .max_chunk_bytes = 1024, .max_bytes = 9000},
                  SIZE_MAX>,
        on_chunks<arena_growth{.first_chunk_bytes = 4000, .max_bytes = 3000}, SIZE_MAX>,
        on_chunks<arena_growth{.max_bytes = 0}, SIZE_MAX>,
        on_chunks<arena_growth{.first_chunk_bytes = 333}, 20000, std::mutex, counting::none>,
        borrowing<3000>, borrowing<0>>,
    testing::Types<
        on_storage<20000, counting::none>, inside<20000>,
        on_chunks<arena_growth{.first_chunk_bytes = 256, .max_chunk_bytes = 1024}, SIZE_MAX>,
        on_chunks<arena_growth{.first_chunk_bytes = 512}, 12345>>>;
TYPED_TEST_SUITE(AnyArena, kinds);

TYPED_TEST(AnyArena, RandomProgramsAgreeWithTheModel) {
  for (unsigned program = 0; program < 60; ++program) {
    SCOPED_TRACE(program);
    support::random_source random(program);
    run_against_model<TypeParam>(random, [](int step) { return step < 300; });
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
