// Test scopes in a user's doctest program, which the drop-in library serves.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/adapt/test_scope.hpp>

namespace {

const auto failed_before =
    ashlar::test::on_failure([](const char* message) { FAIL_CHECK(message); });

TEST_CASE("A vector with room does not allocate") {
  std::vector<int> v;
  v.reserve(10);
  const ashlar::test::no_allocation_scope quiet;
  for (int i = 0; i < 10; ++i) v.push_back(i);
}

TEST_CASE("A test that allocates fails" * doctest::should_fail()) {
  const ashlar::test::no_allocation_scope quiet;
  const std::vector<int> v(10);
}

TEST_CASE("A test frees what it allocates") {
  const ashlar::test::leak_scope leaks;
  const std::vector<int> v(10);
  CHECK(leaks.now().live_bytes == 10 * sizeof(int));
}

void* kept = nullptr;
TEST_CASE("A test that leaks fails" * doctest::should_fail()) {
  const ashlar::test::leak_scope leaks;
  kept = std::malloc(10);
}

}  // namespace
