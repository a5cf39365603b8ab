# Joins the page's files into one C++ source: page_parts, declared in html_page.hpp.
# Run by the build: cmake -DROOT=<checkout> -DOUTPUT=<file> -P join_page.cmake
# In page/report.html a line `@include FILE@` (from the checkout's root) stands for that file, `@data@` for the data.
cmake_minimum_required(VERSION 3.25)
set(quote ")ashlar_page")

function(append_part text)
  if(text MATCHES "\\)ashlar_page")
    message(FATAL_ERROR "a page file holds '${quote}', which ends the C++ string that it is put into")
  endif()
  file(APPEND "${OUTPUT}.part" "    R\"ashlar_page(${text}${quote}\",\n")
endfunction()

file(WRITE "${OUTPUT}.part" "// Made by tools/report/join_page.cmake from tools/report/page.
#include \"tools/report/html_page.hpp\"

namespace ashlar::report {
namespace {
constexpr std::string_view parts[] = {
")
file(READ "${ROOT}/tools/report/page/report.html" rest)
while(1)
  string(FIND "${rest}" "\n@" at)
  if(at EQUAL -1)
    break()
  endif()
  math(EXPR at "${at} + 1")
  string(SUBSTRING "${rest}" 0 ${at} before)
  append_part("${before}")
  string(SUBSTRING "${rest}" ${at} -1 rest)
  string(FIND "${rest}" "\n" end)
  string(SUBSTRING "${rest}" 0 ${end} line)
  string(SUBSTRING "${rest}" ${end} -1 rest)
  if(line STREQUAL "@data@")
    append_part("@data@")
  elseif(line MATCHES "^@include ([A-Za-z0-9_./]+)@$")
    file(READ "${ROOT}/${CMAKE_MATCH_1}" text)
    append_part("${text}")
  else()
    message(FATAL_ERROR "report.html: '${line}' is neither @data@ nor @include FILE@")
  endif()
endwhile()
append_part("${rest}")
file(APPEND "${OUTPUT}.part" "};
}  // namespace

const std::span<const std::string_view> page_parts{parts};

}  // namespace ashlar::report
")
file(RENAME "${OUTPUT}.part" "${OUTPUT}")
