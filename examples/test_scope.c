/* Test scopes in C: what a function allocates through libashlar, and that another one allocates
 * nothing. */
#include <stdio.h>

#include <ashlar/adapt/test_scope.h>
#include <ashlar/ashlar.h>

static char* numbers(int count) {
  char* const text = xmalloc((size_t)count + 1);
  if (text == NULL) return NULL;
  for (int i = 0; i < count; ++i) text[i] = (char)('0' + i % 10);
  text[count] = '\0';
  return text;
}

static void tell(const struct ashlar_test_call* what, void* context) {
  printf("forbidden: %s of %zu bytes\n", what->call, what->size);
  ++*(int*)context;
}

int main(void) {
  struct ashlar_test_scope scope;
  struct ashlar_test_figures f;
  if (ashlar_test_begin(&scope, ASHLAR_TEST_LIBASHLAR, NULL) != 0) {
    puts(ashlar_test_why_not(ASHLAR_TEST_LIBASHLAR));
    return 0; /* beside a sanitizer */
  }
  char* const text = numbers(20);
  xfree(numbers(30));
  ashlar_test_end(&scope, &f);
  printf("%u allocations, %u bytes live on, %u at most\n", (unsigned)f.allocations,
         (unsigned)f.live_bytes, (unsigned)f.peak_bytes);

  int forbidden = 0;
  const struct ashlar_test_rules quiet = {ASHLAR_TEST_ALLOCATIONS, tell, &forbidden};
  if (ashlar_test_begin(&scope, ASHLAR_TEST_LIBASHLAR, &quiet) != 0) return 1;
  xfree(numbers(5));
  ashlar_test_end(&scope, NULL);
  xfree(text);
  return forbidden == 1 ? 0 : 1;
}
