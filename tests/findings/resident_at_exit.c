/* Preloaded by measure.py: a program's last line on standard error is what is resident when it
   ends. */
#include <stdio.h>
#include <string.h>

__attribute__((destructor)) static void tell(void) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  if (status == NULL) return;
  while (fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmRSS:", 6) == 0) fputs(line, stderr);
  fclose(status);
}
