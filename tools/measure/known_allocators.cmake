# Turns bench/peers/peers.json into the table of allocator_list.hpp:
#   cmake -DPEERS=peers.json -DOUTPUT=known_allocators.cpp -P known_allocators.cmake
# A peer with "compare" is in it, under the name there, with the libraries there or else the benchmarks' own.
cmake_minimum_required(VERSION 3.25)
file(READ "${PEERS}" peers)
string(JSON count LENGTH "${peers}")
math(EXPR last "${count} - 1")
set(libraries "")
set(rows "")
foreach(i RANGE ${last})
  string(JSON compared ERROR_VARIABLE none GET "${peers}" ${i} compare)
  if(none)
    continue()
  endif()
  string(JSON name GET "${peers}" ${i} compare name)
  set(list "")
  set(path compare libraries)
  string(JSON length ERROR_VARIABLE none LENGTH "${peers}" ${i} ${path})
  if(none)
    set(path libraries)
    string(JSON length LENGTH "${peers}" ${i} ${path})
  endif()
  math(EXPR end "${length} - 1")
  foreach(j RANGE ${end})
    string(JSON library GET "${peers}" ${i} ${path} ${j})
    if(library MATCHES "/")
      message(FATAL_ERROR "${PEERS}: ${name}: ${library} is a path; compare finds libraries by name")
    endif()
    string(APPEND list "\"${library}\", ")
  endforeach()
  string(APPEND libraries "constexpr std::string_view libraries_${i}[] = {${list}};\n")
  string(APPEND rows "    {\"${name}\", libraries_${i}},\n")
endforeach()
if(rows STREQUAL "")
  message(FATAL_ERROR "${PEERS}: no peer has \"compare\": the command would know no allocator")
endif()
file(WRITE "${OUTPUT}" "// Made of bench/peers/peers.json by known_allocators.cmake: do not edit.
#include \"tools/measure/allocator_list.hpp\"

namespace ashlar::measure {
namespace {
${libraries}constexpr known_allocator table[] = {
${rows}};
}  // namespace

std::span<const known_allocator> known_allocators() {
  return table;
}

}  // namespace ashlar::measure
")
