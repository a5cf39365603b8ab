# Runs a program, which has to end with 0 and to write what is expected.
# cmake -DPROGRAM=... -DEXPECT=<regex> -P expect.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
message("${output}${errors}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "ended with '${code}'")
endif()
if(NOT EXPECT STREQUAL "" AND NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR "no match of '${EXPECT}'")
endif()
