/* Test scopes in C, without a test framework. `plain counts` expects that malloc is counted, `plain
 * refuses` that the program says that it is not. */
#include <tests/dropin/require.h>

#include <ashlar/adapt/test_scope.h>

int main(int argc, char** argv) {
  struct ashlar_test_scope scope;
  struct ashlar_test_figures f;
  const char* const why_not = ashlar_test_why_not(ASHLAR_TEST_MALLOC);
  REQUIRE(argc == 2);
  if (strcmp(argv[1], "refuses") == 0) {
    REQUIRE(why_not != NULL);
    puts(why_not);
    REQUIRE(ashlar_test_begin(&scope, ASHLAR_TEST_MALLOC, NULL) == -1 && errno == ENOTSUP);
    REQUIRE(ashlar_test_now(&scope, &f) == -1 && errno == EINVAL);
    REQUIRE(ashlar_test_end(&scope, NULL) == -1 && errno == EINVAL);
    return 0;
  }
  if (why_not != NULL) {
    puts(why_not);
    return 1;
  }
  REQUIRE(ashlar_test_begin(&scope, ASHLAR_TEST_MALLOC, NULL) == 0);
  {
    void* volatile a = malloc(10);
    void* volatile b = calloc(5, 20);
    a = realloc(a, 30);
    free(b);
    REQUIRE(ashlar_test_now(&scope, &f) == 0);
    REQUIRE(f.allocations == 3 && f.reallocations == 1 && f.frees == 2 && f.other_frees == 0);
    REQUIRE(f.bytes_allocated == 140 && f.live_blocks == 1 && f.live_bytes == 30);
    REQUIRE(f.peak_bytes == 130 && f.first_sizes[0] == 30);
    free(a);
  }
  REQUIRE(ashlar_test_end(&scope, &f) == 0);
  REQUIRE(f.live_blocks == 0 && f.frees == 3);
  puts("malloc is counted");
  return 0;
}
