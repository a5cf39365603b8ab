#!/usr/bin/env python3
"""Programs built with a sanitizer, run with the drop-in library preloaded: each runs as without it and finds what it
is there for, or ends at once with one line that says what to do. None hangs.

Usage: beside_sanitizers.py LIBRARY FOLDER GCC [CLANG]

A compiler, or a sanitizer's runtime, that is not installed is left out and named.
"""
import os
import subprocess
import sys

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shared;
char* volatile leaked;

void* write_shared(void* unused) { ++shared; return unused; }
void* churn(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    char* volatile block = malloc((size_t)i + 1);
    block[0] = 1;
    free(block);
  }
  return unused;
}
int run_two(void* (*what)(void*)) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, what, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
int main(int argc, char** argv) {
  const char* mistake = argc > 1 ? argv[1] : "none";
  run_two(churn);
  if (strcmp(mistake, "thread") == 0) run_two(write_shared);
  char* volatile block = malloc(10);
  memset(block, argc, 9);
  if (strcmp(mistake, "address") == 0) block[10 * argc / 2] = 1;
  if (strcmp(mistake, "memory") == 0 && block[9]) puts("read");
  if (strcmp(mistake, "undefined") == 0) block[0] = (char)(argc << (30 * argc));
  free(block);
  if (strcmp(mistake, "leak") == 0) { leaked = malloc(77); leaked = NULL; }
  puts("done");
  return 0;
}
"""
TOLD = {"address": "AddressSanitizer: heap-buffer-overflow", "thread": "ThreadSanitizer: data race",
        "memory": "MemorySanitizer: use-of-uninitialized-value", "undefined": "runtime error: shift",
        "leak": "LeakSanitizer: detected memory leaks"}
REFUSED = "needs malloc for itself: run it without libashlar-malloc.so (LD_PRELOAD)"
SHARED_RUNTIMES = {"gcc": [], "clang": ["-shared-libsan"]}
STATIC_RUNTIMES = {"gcc": ["-static-lib{short}"], "clang": []}
SHORT = {"address": "asan", "thread": "tsan", "leak": "lsan", "undefined": "ubsan"}


def fail(text):
    print(f"beside_sanitizers.py: {text}", file=sys.stderr)
    sys.exit(1)


def run(command, library=None, **options):
    environment = dict(os.environ, **options)
    if library:
        environment["LD_PRELOAD"] = library
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        fail(f"{command} hangs with LD_PRELOAD={library}")


def variants(kind, compiler):
    for sanitizer in TOLD:
        if sanitizer == "memory" and kind == "gcc":
            continue
        if sanitizer != "memory":
            yield sanitizer, "shared", SHARED_RUNTIMES[kind]
        if sanitizer != "undefined" or kind == "clang":
            yield sanitizer, "static", [flag.format(short=SHORT.get(sanitizer)) for flag in STATIC_RUNTIMES[kind]]


def main():
    if len(sys.argv) not in (4, 5):
        fail(__doc__)
    library, folder, *compilers = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, "program.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    refused = ran = 0
    left_out = []
    for kind, compiler in zip(("gcc", "clang"), compilers):
        runtimes = run([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"]).stdout.strip()
        for sanitizer, linkage, flags in variants(kind, compiler):
            name = f"{kind} {sanitizer} {linkage}"
            program = os.path.join(folder, name.replace(" ", "_"))
            build = run([compiler, "-g", "-O0", f"-fsanitize={sanitizer}", *flags, source, "-o", program, "-pthread"])
            where = {"LD_LIBRARY_PATH": os.path.dirname(runtimes)}
            # ptrace is refused in many containers: then the search for leaks is, too.
            plain = run([program], **where) if build.returncode == 0 else build
            if plain.returncode != 0 or plain.stdout != "done\n":
                left_out.append(name)
                continue
            preloaded = run([program], library, **where)
            if preloaded.returncode == 1 and REFUSED in preloaded.stderr:
                if len(preloaded.stderr.splitlines()) != 1 or preloaded.stdout:
                    fail(f"{name}: more than one line:\n{preloaded.stderr}")
                refused += 1
                continue
            if preloaded.returncode != 0 or preloaded.stdout != "done\n" or preloaded.stderr:
                fail(f"{name} ends with {preloaded.returncode}:\n{preloaded.stdout}{preloaded.stderr}")
            mistaken = run([program, sanitizer], library, **where)
            if TOLD[sanitizer] not in mistaken.stderr:
                fail(f"{name} misses its mistake:\n{mistaken.stdout}{mistaken.stderr}")
            ran += 1
    if refused == 0 or ran == 0:
        fail(f"{refused} refused, {ran} ran: nothing was proved; left out: {left_out}")
    print(f"{ran} run and find their mistake, {refused} end with one line, left out: {', '.join(left_out) or 'none'}")


main()
