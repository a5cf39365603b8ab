// compat/xstring.h: std::string and std::wstring on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XSTRING_H
#define ASHLAR_COMPAT_XSTRING_H

#include <string>

#include "stl_allocator.h"

using xstring = std::basic_string<char, std::char_traits<char>, stl_allocator<char>>;
using xwstring = std::basic_string<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>;

#endif
