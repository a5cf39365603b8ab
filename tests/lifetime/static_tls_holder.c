/* A module that holds so many bytes of the static thread-local storage that the C library keeps free. */
__thread __attribute__((tls_model("initial-exec"))) char held[HELD_BYTES];
char* plugin_that_holds(void) { return held; }
