// compat/xsstream.h: string streams on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XSSTREAM_H
#define ASHLAR_COMPAT_XSSTREAM_H

#include <sstream>

#include "stl_allocator.h"

using xstringstream = std::basic_stringstream<char, std::char_traits<char>, stl_allocator<char>>;
using xostringstream = std::basic_ostringstream<char, std::char_traits<char>, stl_allocator<char>>;
using xwstringstream =
    std::basic_stringstream<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>;
using xwostringstream =
    std::basic_ostringstream<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>;

#endif
