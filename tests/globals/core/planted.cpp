// Writable globals of each kind, in a room that may have none. tests/globals must find these, and
// only these.
extern int planted_zero, planted_value, planted_for_function();
extern thread_local int planted_of_thread;
extern const int* planted_pointer;
extern const int* const harmless_pointer;

int planted_zero;
int planted_value = 1;
thread_local int planted_of_thread = 2;
const int* planted_pointer = &planted_value;
extern const int harmless_number = 3;
const int* const harmless_pointer = &harmless_number;

int planted_for_function() {
  static int planted_in_function = 0;
  return ++planted_in_function;
}
