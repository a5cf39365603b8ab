# The helpers that every CMakeLists.txt here uses.
include(CheckIncludeFile)
check_include_file(execinfo.h ASHLAR_HAS_EXECINFO)
if(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
  set(ASHLAR_HAS_EXECINFO FALSE)  # a library of its own, which ashlar does without
endif()

# Instrumented programs are large: the system's linker takes several times as long for them as LLVM's, where that is there.
set(ashlar_linker "")
if(ASHLAR_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  find_program(ASHLAR_LLD NAMES ld.lld-19 ld.lld)
  if(ASHLAR_LLD)
    set(ashlar_linker --ld-path=${ASHLAR_LLD})
    add_link_options(${ashlar_linker})
  endif()
endif()

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
    # In a group, one file's names are around the next one's.
    $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>,-Wshadow>
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

# ashlar_programs_level(<level>): in this folder and below, programs are compiled at the level that `make test` has time for:
# gcc at this one, of which -O3 takes twice (-O1) or three times (-O0) as long; clang at -O0, of which -O1 takes three times
# as long. So it is gcc that optimises the headers' templates: in the examples, and in tests with ${ashlar_optimised} among
# their OPTIONS. The library keeps its own level, and so does each target that names one.
macro(ashlar_programs_level level)
  if(NOT ASHLAR_TEST_ALL)
    set(CMAKE_CXX_FLAGS_RELEASE "-O0 -DNDEBUG")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set(CMAKE_CXX_FLAGS_RELEASE "${level} -DNDEBUG")
    endif()
  endif()
endmacro()
set(ashlar_optimised "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT ASHLAR_TEST_ALL
   AND NOT ASHLAR_SANITIZE)
  set(ashlar_optimised -O1)
endif()

# ashlar_call_hot_paths(<target>): where sanitizers' builds are not optimised, a copy of a pool's hit path in each caller
# takes up to half of the time to compile and shows nothing (core/config.hpp).
function(ashlar_call_hot_paths target)
  if(ASHLAR_SANITIZE AND NOT ASHLAR_FUZZ AND NOT ASHLAR_TEST_ALL)
    target_compile_definitions(${target} PRIVATE ASHLAR_CALL_HOT_PATHS)
  endif()
endfunction()

function(ashlar_test_options target)
  ashlar_options(${target})
  ashlar_call_hot_paths(${target})
  if(ASHLAR_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -O0)  # at -O1: three times as long to compile
  elseif(ASHLAR_TEST_ALL)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${ASHLAR_TEST_ALL}>:ASHLAR_TEST_ALL>)  # tests/support/extent.hpp
  if(CMAKE_SIZEOF_VOID_P EQUAL 4)
    target_compile_options(${target} PRIVATE -Wno-conversion)  # random numbers have 64 bits, and become sizes
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")  # where no stack leads through a function that cannot throw
    target_compile_options(${target} PRIVATE -fasynchronous-unwind-tables)
  endif()
  if(CMAKE_CROSSCOMPILING_EMULATOR)  # tests/misuse/misuse_test.cpp
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    target_compile_definitions(${target} PRIVATE "ASHLAR_EMULATOR=\"${emulator}\"")
  endif()
  if(NOT ASHLAR_HAS_EXECINFO)  # os/call_stack_posix.cpp: the unwinder has to be in the program
    target_link_options(${target} PRIVATE -Wl,-u,_Unwind_Backtrace)
  endif()
  target_link_libraries(${target} PRIVATE ashlar GTest::gtest_main)
  if(ASHLAR_COVERAGE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/coverage_at_abort.cpp)
  endif()
endfunction()

# ashlar_test_headers(<target> <option>...): compiles it with these options, and what tests include is read once for all
# tests that have the same: a second less for each of some hundred files.
function(ashlar_test_headers target)
  string(MAKE_C_IDENTIFIER "test_headers${ARGN}" headers)
  if(NOT TARGET ${headers})
    add_executable(${headers} ${PROJECT_SOURCE_DIR}/tests/support/test_headers.cpp)  # a program, as the tests are: -fPIE
    ashlar_test_options(${headers})
    target_compile_options(${headers} PRIVATE ${ARGN})
    target_precompile_headers(${headers} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/test_headers.hpp)
  endif()
  target_compile_options(${target} PRIVATE ${ARGN})
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# ashlar_test(<name> <source>... [LIBS lib...] [LABELS label...] [OPTIONS option...] [SHARDS n]): one GoogleTest program, one
# ctest entry. With SHARDS, so many entries have a part of its tests each: <name>.1 and so on.
function(ashlar_test name)
  cmake_parse_arguments(arg "" "SHARDS" "LIBS;LABELS;OPTIONS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ashlar_test_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  ashlar_test_headers(${name} ${arg_OPTIONS})
  # Under an emulator a death test cannot start the program anew, and the emulator adds to what it says.
  set(filter)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    set(filter --gtest_filter=-*DeathTest*)
  endif()
  set(entries ${name})
  if(arg_SHARDS)
    set(entries)
    foreach(shard RANGE 1 ${arg_SHARDS})
      list(APPEND entries ${name}.${shard})
    endforeach()
  endif()
  set(shard 0)
  foreach(entry IN LISTS entries)
    add_test(NAME ${entry} COMMAND ${name} ${filter})
    # COST: these are the longest, and what begins last with nothing beside it costs a processor.
    set_tests_properties(${entry} PROPERTIES TIMEOUT 600 COST 10 LABELS "${arg_LABELS}"
      DISABLED $<BOOL:${ASHLAR_IS_NOT_RUN}>)  # cmake/port.cmake: it is compiled and linked only
    if(arg_SHARDS)
      set_tests_properties(${entry} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endif()
    math(EXPR shard "${shard} + 1")
  endforeach()
endfunction()

# ashlar_command_test(<name> <file> <NAME=VALUE>...): one Python program of the command (tests/support/command_in_folder.py),
# which is given these values.
function(ashlar_command_test name file)
  add_test(NAME ${name} COMMAND ${ASHLAR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${file} command=$<TARGET_FILE:ashlar_cli> ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 COST 10 LABELS end_to_end)
endfunction()

# ashlar_expect(<target> <regex>): a ctest entry of that name: the program ends with 0 and its output matches.
# Not PASS_REGULAR_EXPRESSION: with that ctest does not look at the exit code, nor so at what a sanitizer found.
function(ashlar_expect name regex)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:${name}>"
    "-DEXPECT=${regex}"
    -P ${PROJECT_SOURCE_DIR}/cmake/expect.cmake)
  set_tests_properties(${name} PROPERTIES DISABLED $<BOOL:${ASHLAR_IS_NOT_RUN}>)
endfunction()
