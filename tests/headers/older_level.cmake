# Requires that the headers refuse C++17 in one sentence.
# Run: cmake -DCXX=<compiler> -DROOT=<checkout> -P older_level.cmake
cmake_minimum_required(VERSION 3.25)
foreach(header ashlar.hpp freestanding.hpp)
  execute_process(COMMAND ${CXX} -std=c++17 -fsyntax-only -I ${ROOT} -x c++ ${ROOT}/ashlar/${header}
    RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_QUIET)
  string(REGEX MATCHALL "error: " errors "${text}")
  list(LENGTH errors count)
  if(code EQUAL 0 OR NOT text MATCHES "ashlar needs C\\+\\+20: compile with" OR NOT count EQUAL 2)
    message(FATAL_ERROR "${header} by ${CXX} says:\n${text}")
  endif()
endforeach()
