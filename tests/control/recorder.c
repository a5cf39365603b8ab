/* A recorder as libashlar-record.so is one, which only says that it was called. ashlar_record_start
 * writes to the file, ashlar_record_stop adds to it. Where the file cannot be written they fail with
 * the error's number. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) int ashlar_record_start(const char* trace_file);
__attribute__((visibility("default"))) int ashlar_record_stop(void);

static char path[4096];

static int append(const char* text) {
  FILE* const file = fopen(path, "a");
  if (file == NULL) return errno;
  fputs(text, file);
  return fclose(file) == 0 ? 0 : errno;
}

int ashlar_record_start(const char* trace_file) {
  strncpy(path, trace_file, sizeof path - 1);
  return append("started\n");
}

int ashlar_record_stop(void) {
  if (path[0] == '\0') {
    errno = ENOENT;
    return -1;
  }
  return append("stopped\n");
}
