#include <dlfcn.h>

#include "deepbind.h"

void* open_module_by_name(int flags) {
  void* volatile library = dlopen("libdropin_deepbind_module.so", flags);
  return library; /* not a tail call: the loader has to see this library as the caller */
}
