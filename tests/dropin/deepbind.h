/* dropin/deepbind.h: a library that opens a module by its name alone, found by the library's RUNPATH. */
#pragma once

void* open_module_by_name(int flags);
