/* DataTypes.h: the classic code's names for the built-in types. C and C++.
 * Layer: compat.
 *
 * Law: each name is what <windows.h> means by it, so that both can be included in either order (a
 * typedef may be repeated when it is the same). A name with a number has that many bits, and a
 * DWORD has 32 bits on every system. TRUE and FALSE are kept if somebody has them.
 */
#ifndef ASHLAR_COMPAT_DATATYPES_H
#define ASHLAR_COMPAT_DATATYPES_H

#include <stddef.h>

typedef char CHAR;
typedef unsigned char UCHAR;
typedef unsigned char BYTE;
typedef short SHORT;
typedef unsigned short USHORT;
typedef int INT;
typedef unsigned int UINT;
typedef long LONG;
typedef unsigned long ULONG;
typedef int BOOL;

typedef signed char INT8;
typedef unsigned char UINT8;
typedef short INT16;
typedef unsigned short UINT16;
typedef int INT32;
typedef unsigned int UINT32;
#ifdef _WIN32
typedef __int64 INT64;
typedef unsigned __int64 UINT64;
typedef unsigned long DWORD;
#else
__extension__ typedef long long INT64;
__extension__ typedef unsigned long long UINT64;
typedef unsigned int DWORD;
#endif
typedef unsigned short WORD;
typedef float FLOAT;
typedef double DOUBLE;

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

#endif
