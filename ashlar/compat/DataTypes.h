/* DataTypes.h: the classic code's names for the built-in types. C and C++.
 * Layer: compat. Includes: nothing.
 *
 * Law: each name is what <windows.h> means by it, so that both can be included in either order (a
 * typedef may be repeated when it is the same). TRUE and FALSE are kept if somebody has them.
 */
#ifndef ASHLAR_COMPAT_DATATYPES_H
#define ASHLAR_COMPAT_DATATYPES_H

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

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

#endif
