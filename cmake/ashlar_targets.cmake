# The helpers that every CMakeLists.txt here uses.

# ashlar_options(<target>): warnings, sanitizers and the language level, for our own code only.
# Instrumented code is not optimised, since that takes two (ASan), three (UBSan) and five times (TSan) as long to compile;
# the library's own level is its own (ashlar/CMakeLists.txt). Fuzzers live by their speed, and `make test-all` has time.
set(ashlar_sanitized_level -O0)
if(ASHLAR_FUZZ OR ASHLAR_TEST_ALL)
  set(ashlar_sanitized_level -O1)
endif()
function(ashlar_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wundef
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>  # in a group, one file's names are around the next one's
    $<$<BOOL:${ASHLAR_WERROR}>:-Werror>)
  if(ASHLAR_SANITIZE)
    # Lines only: -g takes a third longer to build.
    target_compile_options(${target} PRIVATE -fsanitize=${ASHLAR_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all ${ashlar_sanitized_level} -g1)
    target_link_options(${target} PUBLIC -fsanitize=${ASHLAR_SANITIZE})
  endif()
  if(ASHLAR_COVERAGE)
    # atomic: tests have threads, and a count that is lost may be the only one.
    # The warning is wrong about a placement new and delete of one pool, once neither is inlined.
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic -O0 -Wno-mismatched-new-delete)
    target_compile_definitions(${target} PRIVATE ASHLAR_COVERAGE)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

# ashlar_programs_level(): in this folder and below, programs are compiled at the level that `make test` has time for: gcc
# at -O1, of which -O3 takes twice as long; clang at -O0, of which -O1 takes three times as long. So it is gcc that
# optimises the headers' templates. The library keeps its own level, and so does each target that names one.
macro(ashlar_programs_level)
  if(NOT ASHLAR_TEST_ALL)
    set(CMAKE_CXX_FLAGS_RELEASE "-O0 -DNDEBUG")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
    endif()
  endif()
endmacro()

function(ashlar_test_options target)
  ashlar_options(${target})
  if(ASHLAR_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -O0)  # at -O1: three times as long to compile
  elseif(ASHLAR_TEST_ALL)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${ASHLAR_TEST_ALL}>:ASHLAR_TEST_ALL>)  # tests/support/extent.hpp
  target_link_libraries(${target} PRIVATE ashlar GTest::gtest_main)
  if(ASHLAR_COVERAGE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/coverage_at_abort.cpp)
  endif()
endfunction()

# ashlar_test(<name> <source>... [LIBS lib...] [LABELS label...]): one GoogleTest program, one ctest entry.
function(ashlar_test name)
  cmake_parse_arguments(arg "" "" "LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ashlar_test_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  # What each of them includes is read once: a second less for each of some sixty files.
  if(NOT TARGET test_headers)
    add_executable(test_headers ${PROJECT_SOURCE_DIR}/tests/support/test_headers.cpp)  # a program, as the tests are: -fPIE
    ashlar_test_options(test_headers)
    target_precompile_headers(test_headers PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/test_headers.hpp)
  endif()
  target_precompile_headers(${name} REUSE_FROM test_headers)
  add_test(NAME ${name} COMMAND ${name})
  # COST: these are the longest, and what begins last with nothing beside it costs a processor.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 COST 10 LABELS "${arg_LABELS}")
endfunction()

# ashlar_expect(<target> <regex>): a ctest entry of that name: the program ends with 0 and its output matches.
# Not PASS_REGULAR_EXPRESSION: with that ctest does not look at the exit code, nor so at what a sanitizer found.
function(ashlar_expect name regex)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> "-DEXPECT=${regex}"
    -P ${PROJECT_SOURCE_DIR}/cmake/expect.cmake)
endfunction()
