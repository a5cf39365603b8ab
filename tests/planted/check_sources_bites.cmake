# Plants sources in a small tree and requires that ashlar_check_sources refuses each tree whose list
# does not name every source exactly once.
# Run: cmake -DROOT=<checkout> -DWORK=<empty folder> -P check_sources_bites.cmake
cmake_minimum_required(VERSION 3.25)
if(DEFINED FOLDER)  # called by this script: checks the list, as ashlar/CMakeLists.txt does
  include(${ROOT}/cmake/check_sources.cmake)
  ashlar_check_sources(${FOLDER} ${LISTED})
  return()
endif()

# expect(<passes|fails> <what is planted> <text that the message must hold> <listed source>...)
function(expect outcome what message)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${ROOT} -DFOLDER=${WORK}/tree "-DLISTED=${ARGN}"
    -P ${ROOT}/tests/planted/check_sources_bites.cmake
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(outcome STREQUAL "passes" AND NOT code EQUAL 0)
    message(FATAL_ERROR "${what}: allowed, but the check refuses it:\n${text}")
  elseif(outcome STREQUAL "fails" AND (code EQUAL 0 OR NOT text MATCHES "${message}"))
    message(FATAL_ERROR "${what}: no error that says '${message}' (${code}):\n${text}")
  endif()
  message(STATUS "${what}: ${outcome}, as it should")
endfunction()

file(REMOVE_RECURSE ${WORK}/tree)
foreach(source core/one.cpp core/one_test.cpp os/two.cpp)
  file(WRITE ${WORK}/tree/${source} "")
endforeach()
expect(passes "both sources are listed" "" core/one.cpp os/two.cpp)
expect(fails "a source that nobody lists" "os/two.cpp is in no list" core/one.cpp)
expect(fails "a source that two lists have" "core/one.cpp is listed 2 times" core/one.cpp os/two.cpp core/one.cpp)
expect(fails "an empty list" "core/one.cpp is in no list")
file(RENAME ${WORK}/tree/os/two.cpp ${WORK}/tree/os/renamed.cpp)
expect(fails "a source that was renamed" "os/two.cpp is listed, and is no file" core/one.cpp os/two.cpp)
expect(fails "the new name of it" "os/renamed.cpp is in no list" core/one.cpp os/two.cpp)
file(RENAME ${WORK}/tree/os/renamed.cpp ${WORK}/tree/os/two_test.cpp)
expect(fails "a source that became a test" "os/two.cpp is listed, and is no file" core/one.cpp os/two.cpp)
file(REMOVE_RECURSE ${WORK}/tree)
