// Arenas: markers, scopes of rewinds, growth, objects and their ends, against the arena tests' own model.
#include <cstdint>
#include <mutex>
#include <tests/fuzz/input.hpp>
#include <tests/fuzz/stop_at_failure.hpp>

#include <ashlar/arena/test_model.hpp>

namespace {

using namespace ashlar;
using namespace ashlar_test;

template <class Kind>
void run(fuzz::input& in) {
  run_against_model<Kind>(in, [&in](int) { return !in.empty(); });
}

/// Scopes within scopes: what a scope's end leaves is what was there when it began.
void nested_scopes(fuzz::input& in) {
  order ends;
  grave = &ends;
  test_source source;
  {
    using arena_type = arena<test_source_ref>;
    arena_type memory(arena_growth{.first_chunk_bytes = 128}, test_source_ref{&source});
    const auto nest = [&](auto&& self, int depth) -> void {
      while (!in.empty()) {
        const std::size_t what = in.below(8);
        if (what < 4) {
          static_cast<void>(memory.try_allocate(in.below(200), std::size_t{1} << in.below(8)));
        } else if (what < 6) {
          ASSERT_NE(memory.create<mortal<64>>(), nullptr);
        } else if (what == 6 && depth < 20) {
          const std::size_t before = memory.used_bytes();
          const int first_id = next_id;
          ends.clear();
          bool kept = false;
          {
            arena_scope scope(memory);
            self(self, depth + 1);
            kept = in.chance(20);
            if (kept) scope.keep();
          }
          if (kept) continue;
          // Chunks that are left behind are counted as used; what was used before may be less than that.
          ASSERT_LE(memory.used_bytes(), before);
          for (const int id : ends) ASSERT_GE(id, first_id);
        } else {
          return;
        }
      }
    };
    nest(nest, 0);
  }
  ASSERT_TRUE(source.pieces.empty());
  ASSERT_EQ(source.wrong, 0u);
}

constexpr void (*kinds[])(fuzz::input&) = {
    run<on_storage<5000>>,
    run<on_storage<5000, std::mutex, counting::none>>,
    run<on_storage<7>>,
    run<inside<3000>>,
    run<inside<0>>,
    run<on_chunks<arena_growth{}, SIZE_MAX>>,
    run<on_chunks<arena_growth{.first_chunk_bytes = 0, .max_chunk_bytes = 0}, SIZE_MAX>>,
    run<on_chunks<arena_growth{
                      .first_chunk_bytes = 256, .max_chunk_bytes = 1024, .max_bytes = 9000},
                  SIZE_MAX>>,
    run<on_chunks<arena_growth{.first_chunk_bytes = 333}, 20000, counting::none>>,
    run<borrowing<3000>>,
    nested_scopes,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::stop_at_failure::begin();
  fuzz::input in({data, size});
  kinds[in.below(std::size(kinds))](in);
  return 0;
}
