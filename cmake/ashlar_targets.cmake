# The helpers that every CMakeLists.txt here uses.

# ashlar_options(<target>): warnings, sanitizers and the language level, for our own code only.
function(ashlar_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef $<$<BOOL:${ASHLAR_WERROR}>:-Werror>)
  if(ASHLAR_SANITIZE)
    # -O1 and lines only: -O2 -g takes a third longer to build.
    target_compile_options(${target} PRIVATE -fsanitize=${ASHLAR_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all -O1 -g1)
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

function(ashlar_test_options target)
  ashlar_options(${target})
  # The tests' own code needs no more: -O3 doubles the time to compile it, and UBSan at -O1 triples that of -O0.
  # The library keeps its own level.
  if(ASHLAR_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
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
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}")
endfunction()

# ashlar_expect(<target> <regex>): a ctest entry of that name: the program ends with 0 and its output matches.
# Not PASS_REGULAR_EXPRESSION: with that ctest does not look at the exit code, nor so at what a sanitizer found.
function(ashlar_expect name regex)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> "-DEXPECT=${regex}"
    -P ${PROJECT_SOURCE_DIR}/cmake/expect.cmake)
endfunction()
