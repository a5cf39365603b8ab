# What distributions give to CMake. The folders of libraries and headers are whole paths, in one prefix or in several
# (Nix): ashlar.pc names them, too. Flags of theirs that the drop-in library cannot be compiled with do not reach it.
# Run: cmake -DROOT=<checkout> -DWORK=<scratch folder> -DCC=<C compiler> -DCXX=<C++ compiler> -DGENERATOR=<generator>
#        -DPKG_CONFIG=<program> -P distribution.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(libraries ${WORK}/prefix/lib/processor)
set(headers /another_prefix/include)  # CMake refuses one in the checkout; nothing is installed
execute_process(COMMAND ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX} -DASHLAR_BUILD_TOOLS=OFF -DASHLAR_BUILD_TESTS=OFF -DASHLAR_BUILD_EXAMPLES=OFF
    -DASHLAR_BUILD_BENCH=OFF -DCMAKE_INSTALL_PREFIX=${WORK}/prefix -DCMAKE_INSTALL_LIBDIR=${libraries}
    -DCMAKE_INSTALL_INCLUDEDIR=${headers} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
    "-DCMAKE_CXX_FLAGS=-g -flto=auto -Wp,-D_GLIBCXX_ASSERTIONS -fstack-protector-strong"
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "configuring has failed (${code}):\n${output}")
endif()
foreach(module ashlar ashlar-compat-c)
  file(COPY ${WORK}/build/ashlar/${module}.pc DESTINATION ${libraries}/pkgconfig)
endforeach()

# expect(<module> <variable> <folder>)
function(expect module variable folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${libraries}/pkgconfig ${PKG_CONFIG}
      --variable=${variable} ${module}
    OUTPUT_VARIABLE told OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  cmake_path(NORMAL_PATH told)
  if(NOT told STREQUAL folder)
    message(FATAL_ERROR "${module}.pc: ${variable} is ${told}, not ${folder}")
  endif()
endfunction()
expect(ashlar libdir ${libraries})
expect(ashlar includedir ${headers})
expect(ashlar-compat-c includedir ${headers})

# Else it needs libstdc++, and ashlar-malloc.o functions of it that a C program lacks.
file(READ ${WORK}/build/compile_commands.json commands)
string(REGEX MATCHALL "\"command\": \"[^\n]*ashlar_malloc_objects.dir[^\n]*" commands "${commands}")
if(commands STREQUAL "")
  message(FATAL_ERROR "no source of the drop-in library is compiled")
endif()
foreach(command IN LISTS commands)
  if(command MATCHES "GLIBCXX_ASSERTIONS" OR NOT command MATCHES "-flto=auto.* -fstack-protector-strong.* -fno-lto ")
    message(FATAL_ERROR "the drop-in library is compiled with flags that it cannot have, or without those that it can: "
      "${command}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
