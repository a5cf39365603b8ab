/* ashlar/ashlar.h: everything for C, and for C++ that speaks C: include this one. */
#ifndef ASHLAR_ASHLAR_H
#define ASHLAR_ASHLAR_H

#include <ashlar/adapt/c_api.h>

#endif
