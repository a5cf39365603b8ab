/* adapt/loaded_name.h: a function of a library that the process may have (C99 and C++).
 * Layer: adapt. Inline, so that a program needs no library of ashlar for it.
 *
 * A program names such a function weakly. But Apple's linker knows no weak name that nobody
 * defines, and of a program that is not position independent the linker resolves one to null. So
 * the loader is asked, too.
 */
#ifndef ASHLAR_ADAPT_LOADED_NAME_H
#define ASHLAR_ADAPT_LOADED_NAME_H

#include <stddef.h>
#include <string.h>

/* NOLINTBEGIN(modernize-use-nullptr): C has none */
#if defined(__APPLE__)
#include <dlfcn.h>
#else
/* By another name of dlsym: a program without a loader links all the same. */
static __typeof__(void*(void*, const char*)) ashlar_loaded_dlsym __attribute__((weakref("dlsym")));
#endif

/* Effects: the pointer at `function`, of `bytes` bytes, is the address of the function of that
 * name, or null where nothing that is loaded has it. C converts no address of an object to one. */
static inline void ashlar_find_loaded(const char* name, void* function, size_t bytes) {
  void* there = NULL;
#if defined(__APPLE__)
  there = dlsym(RTLD_DEFAULT, name);
#else
  if (&ashlar_loaded_dlsym != NULL) there = ashlar_loaded_dlsym(NULL, name);
#endif
  memcpy(function, &there, bytes);
}
/* NOLINTEND(modernize-use-nullptr) */

#endif
