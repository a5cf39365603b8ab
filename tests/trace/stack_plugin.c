/* Loaded, called and unloaded. One source, built with frames of different sizes: its call returns to the same place in each
   library, and the same rule would be wrong for the other. */
void* plugin_call(void* (*function)(void));

void* plugin_call(void* (*function)(void)) {
  /* Where the other library has its return address, here is a zero, as at the end of a stack. */
  volatile long room[STACK_ROOM];
  for (int i = 0; i < STACK_ROOM; ++i) room[i] = 0;
  void* const result = function();
  room[0] = 1;
  return result;
}
