# Takes the lines that `ashlar report --text` advises out of an example, so that what it says compiles.
# Run by the build: cmake -DSOURCE=<example.cpp> -DOUTPUT=<file> -P join_snippets.cmake
# A snippet is what stands between `// snippet KIND PART` and `// end`. Snippets of one name are joined.
cmake_minimum_required(VERSION 3.25)
set(quote ")ashlar_code")

# What differs in C stands in the example of the same name that ends with _in_c.c.
string(REGEX REPLACE "\\.cpp$" "_in_c.c" source_in_c "${SOURCE}")
file(READ "${SOURCE}" rest)
file(READ "${source_in_c}" rest_in_c)
string(APPEND rest "${rest_in_c}")
if(rest MATCHES "\\)ashlar_code")
  message(FATAL_ERROR "${SOURCE} holds '${quote}', which ends the C++ string that it is put into")
endif()
set(names "")
while(1)
  string(FIND "${rest}" "// snippet " at)
  if(at EQUAL -1)
    break()
  endif()
  # The marker's own indentation is that of all lines of its snippet.
  string(SUBSTRING "${rest}" 0 ${at} before)
  string(FIND "${before}" "\n" line REVERSE)
  math(EXPR line "${line} + 1")
  string(SUBSTRING "${before}" ${line} -1 indent)
  string(SUBSTRING "${rest}" ${at} -1 rest)
  string(FIND "${rest}" "\n" newline)
  string(SUBSTRING "${rest}" 0 ${newline} marker)
  string(SUBSTRING "${rest}" ${newline} -1 rest)
  string(FIND "${rest}" "\n${indent}// end\n" end)
  if(NOT marker MATCHES "^// snippet ([a-z_]+) (standard|ashlar)$" OR end EQUAL -1)
    message(FATAL_ERROR "${SOURCE}: '${marker}' names no snippet, or it has no end")
  endif()
  set(name "${CMAKE_MATCH_1}_${CMAKE_MATCH_2}")
  string(SUBSTRING "${rest}" 0 ${end} code)
  string(SUBSTRING "${rest}" ${end} -1 rest)
  string(REPLACE "\n${indent}" "\n" code "${code}")
  list(APPEND names ${name})
  string(APPEND code_of_${name} "${code}")
endwhile()
list(REMOVE_DUPLICATES names)

file(WRITE "${OUTPUT}.part" "// Made by tools/findings/join_snippets.cmake from examples/findings.cpp.
#include \"tools/findings/remedies.hpp\"

namespace ashlar::findings {
namespace {
constexpr snippet all[] = {
")
foreach(name IN LISTS names)
  string(SUBSTRING "${code_of_${name}}" 1 -1 code)  # without the newline of the marker
  file(APPEND "${OUTPUT}.part" "    {\"${name}\", R\"ashlar_code(${code}${quote}\"},\n")
endforeach()
file(APPEND "${OUTPUT}.part" "};
}  // namespace

const std::span<const snippet> snippets{all};

}  // namespace ashlar::findings
")
file(RENAME "${OUTPUT}.part" "${OUTPUT}")
