# Some distributions give the folders of libraries and headers as whole paths, in one prefix or in several (Nix). Then
# ashlar.pc names them, too.
# Run: cmake -DROOT=<checkout> -DWORK=<scratch folder> -DCC=<C compiler> -DCXX=<C++ compiler> -DGENERATOR=<generator>
#        -DPKG_CONFIG=<program> -P whole_paths.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(libraries ${WORK}/prefix/lib/processor)
set(headers ${WORK}/another_prefix/include)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX} -DASHLAR_BUILD_TOOLS=OFF -DASHLAR_BUILD_TESTS=OFF -DASHLAR_BUILD_EXAMPLES=OFF
    -DASHLAR_BUILD_BENCH=OFF -DCMAKE_INSTALL_PREFIX=${WORK}/prefix -DCMAKE_INSTALL_LIBDIR=${libraries}
    -DCMAKE_INSTALL_INCLUDEDIR=${headers}
  OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
foreach(module ashlar ashlar-compat)
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
expect(ashlar-compat includedir ${headers})
file(REMOVE_RECURSE ${WORK})
