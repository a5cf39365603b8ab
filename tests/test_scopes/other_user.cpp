// Test scopes in a user's program with FRAMEWORK_catch2 or FRAMEWORK_doctest, which the drop-in library serves.
#ifdef FRAMEWORK_catch2
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#define FAILING_TEST_CASE(name) TEST_CASE(name, "[!shouldfail]")
#else
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#define FAILING_TEST_CASE(name) TEST_CASE(name* doctest::should_fail())
#endif
#include <vector>

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

FAILING_TEST_CASE("A test that allocates fails") {
  const ashlar::test::no_allocation_scope quiet;
  const std::vector<int> v(10);
}

TEST_CASE("A test frees what it allocates") {
  const ashlar::test::leak_scope leaks;
  const std::vector<int> v(10);
  CHECK(leaks.now().live_bytes == 10 * sizeof(int));
}

void* kept = nullptr;
FAILING_TEST_CASE("A test that leaks fails") {
  const ashlar::test::leak_scope leaks;
  kept = std::malloc(10);
}

}  // namespace
