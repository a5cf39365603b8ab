// The program uses brk and sbrk itself, up and down, beside malloc. What it wrote there stays.
#include "outside.h"

int main(void) {
  enum { step = 300000, steps = 12 };
  char* of_program[steps];
  for (int i = 0; i < steps; ++i) {
    use_heap((unsigned)i, 1000);
    of_program[i] = (char*)sbrk(step);
    CHECK(of_program[i] != (char*)-1);
    memset(of_program[i], 'a' + i, step);
    void* large = calloc(1, 900000);
    CHECK(((char*)large)[899999] == 0);
    free(large);
    if (i % 3 == 2 && sbrk(0) == of_program[i] + step) {
      CHECK(brk(of_program[i] + step / 2) == 0 && sbrk(step / 2) == of_program[i] + step / 2);
      CHECK(of_program[i][step - 1] == 0);
      memset(of_program[i] + step / 2, 'a' + i, step / 2);
    }
  }
  use_heap(99, 20000);
  for (int i = 0; i < steps; ++i)
    for (int k = 0; k < step; ++k) CHECK(of_program[i][k] == 'a' + i);
  puts("kept");
}
