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
endfunction()

# ashlar_test(<name> <source>... [LIBS lib...] [LABELS label...]): one GoogleTest program, one ctest entry.
function(ashlar_test name)
  cmake_parse_arguments(arg "" "" "LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ashlar_options(${name})
  # The tests' own code needs no more: -O3 doubles the time to compile it, and UBSan at -O1 triples that of -O0.
  # The library keeps its own level.
  if(ASHLAR_SANITIZE MATCHES "undefined")
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBS} ashlar GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}")
endfunction()
