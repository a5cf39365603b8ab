# Requires that check_globals.py finds the planted globals and nothing else.
# Run: cmake -DCHECK=<command and its first arguments> -DPLANTED=<object> -P check_bites.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${CHECK} ${PLANTED} RESULT_VARIABLE code ERROR_VARIABLE text)
string(REGEX MATCHALL "core/planted\\.cpp has a writable global: [^\n]*" found "${text}")
list(TRANSFORM found REPLACE ".*: " "")
set(planted planted_in_function planted_of_thread planted_pointer planted_value planted_zero)
if(code EQUAL 0 OR NOT found STREQUAL "${planted}")
  message(FATAL_ERROR "found: ${found}\nplanted: ${planted}\n${text}")
endif()
# The list itself: what nobody has is told, too.
if(NOT text MATCHES "listed, but not there: os/access_fault_posix.cpp the_watcher")
  message(FATAL_ERROR "a line of the list that names nothing was not told:\n${text}")
endif()
