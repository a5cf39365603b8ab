# Installs into a prefix, moves the prefix away, and builds and runs consumers against what was moved.
# Run: cmake -DHOW=cmake|pkg-config|module -DBUILD=<our build> -DROOT=<checkout> -DSOURCE=<this folder>
#        -DWORK=<scratch folder> -DCC=<C compiler> -DCXX=<C++ compiler> -DCONFIG=<build type>
#        -DGENERATOR=<generator> [-DPKG_CONFIG=<program>] -P consume.cmake
cmake_minimum_required(VERSION 3.25)

# step(<what> <command>...): runs it, fails loudly; the output is in `output`.
macro(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${what} has failed (${code}): ${command}\n${output}\n${errors}")
  endif()
endmacro()

# runs_well(<program> <text>): it must end with 0 and print the text.
macro(runs_well program text)
  step("running ${program}" ${CMAKE_COMMAND} -E env ${ARGN} ${program})
  if(NOT output STREQUAL "${text}")
    message(FATAL_ERROR "${program} printed '${output}', not '${text}'")
  endif()
  message(STATUS "${program}: ${output}")
endmacro()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/project)
step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first --config ${CONFIG})
file(RENAME ${WORK}/first ${WORK}/moved)
set(prefix ${WORK}/moved)

# What is installed may name neither where it was built nor where it was first.
file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc ${prefix}/*.h ${prefix}/*.hpp)
if(texts STREQUAL "")
  message(FATAL_ERROR "nothing was installed")
endif()
foreach(file IN LISTS texts)
  file(READ ${file} text)
  foreach(path ${WORK}/first ${ROOT}/ ${BUILD}/)
    string(FIND "${text}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${path}: the prefix cannot be moved")
    endif()
  endforeach()
endforeach()

# Installed are the public headers and what these include, as the compiler sees it, and no other header.
# Public: the umbrella headers, asan_report.hpp, new_delete.hpp, tags.h, test_scope.h, test_scope.hpp, and the classic names (the static pools' table last).
file(GLOB classic RELATIVE ${prefix}/include/ashlar/compat ${prefix}/include/ashlar/compat/*.h)
# With Allocator.h they are an error: a file of their own.
list(REMOVE_ITEM classic xallocator_document_pools.h alloc_with_pool.h memory_pool_allocator.h)
file(WRITE ${WORK}/pool_allocator.cpp "#include <alloc_with_pool.h>\n")
set(includes "")
foreach(header ashlar/ashlar.h ashlar/ashlar.hpp ashlar/freestanding.hpp ashlar/adapt/asan_report.hpp ashlar/adapt/new_delete.hpp
        ashlar/adapt/tags.h ashlar/adapt/test_scope.h ashlar/adapt/test_scope.hpp
        ${classic} xallocator_document_pools.h)
  string(APPEND includes "#include <${header}>\n")
endforeach()
file(WRITE ${WORK}/all.cpp "${includes}")
step("looking for what the public headers include" ${CXX} -std=c++20 -M -I ${prefix}/include
  -I ${prefix}/include/ashlar/compat ${WORK}/all.cpp ${WORK}/pool_allocator.cpp)
string(REPLACE "${prefix}/include/" "@" output "${output}")
string(REGEX MATCHALL "@[^ \n]+" included "${output}")
list(TRANSFORM included REPLACE "^@" "")
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*)
list(REMOVE_ITEM headers ashlar/ashlar.cppm)  # which includes them
list(LENGTH headers count)
foreach(header IN LISTS headers)
  if(NOT header IN_LIST included)
    message(FATAL_ERROR "${header} is installed, but no public header includes it")
  endif()
endforeach()
if(count LESS 50)
  message(FATAL_ERROR "only ${count} headers are installed: ${headers}")
endif()

# The C API's manual page has each function, and groff takes it as it is.
set(page ${prefix}/share/man/man3)
file(READ ${page}/ashlar.3 text)
file(READ ${page}/xfree_as.3 link)
if(NOT text MATCHES "\nvoid xfree_as.void\\* block" OR NOT text MATCHES "int ashlar_control" OR NOT link STREQUAL ".so man3/ashlar.3\n")
  message(FATAL_ERROR "${page}/ashlar.3 lacks functions, or no page leads to it")
endif()
find_program(groff groff)
if(groff)
  step("reading the manual page" ${groff} -man -Tutf8 -ww -z ${page}/ashlar.3)
  if(NOT errors STREQUAL "")
    message(FATAL_ERROR "groff says of ${page}/ashlar.3: ${errors}")
  endif()
endif()

file(COPY ${SOURCE}/consumer.c ${SOURCE}/consumer.cpp ${SOURCE}/classic.c ${SOURCE}/classic.cpp
  DESTINATION ${WORK}/project)
if(HOW STREQUAL "cmake")
  file(COPY_FILE ${SOURCE}/project.cmake.txt ${WORK}/project/CMakeLists.txt)
  step("configuring the consumer" ${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build
    -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF)
  step("building the consumer" ${CMAKE_COMMAND} --build ${WORK}/build)
  runs_well(${WORK}/build/consumer_c "consumer: c")
  runs_well(${WORK}/build/consumer_cpp "consumer: c++")
  runs_well(${WORK}/build/classic_c "classic: c")
  runs_well(${WORK}/build/classic_cpp "classic: c++20")
elseif(HOW STREQUAL "module")
  set(flags -std=c++20 -pthread -Wall -Wextra -Werror -I ${prefix}/include)
  step("compiling the module" ${CXX} ${flags} --precompile ${prefix}/include/ashlar/ashlar.cppm -o ${WORK}/ashlar.pcm)
  file(GLOB_RECURSE library ${prefix}/libashlar.a)
  step("building the program that imports it" ${CXX} ${flags} -fmodule-file=ashlar=${WORK}/ashlar.pcm ${SOURCE}/module.cpp
    ${WORK}/ashlar.pcm ${library} -o ${WORK}/module)
  runs_well(${WORK}/module "module: pools, arenas and heaps")
else()
  file(GLOB_RECURSE module ${prefix}/ashlar.pc)
  if(module STREQUAL "")
    message(FATAL_ERROR "no ashlar.pc was installed")
  endif()
  get_filename_component(modules ${module} DIRECTORY)
  get_filename_component(libraries ${modules} DIRECTORY)
  foreach(kind shared static)
    set(how "")
    if(kind STREQUAL "static")
      set(how --static)
      # Only the archive is left, so that -lashlar can mean nothing else.
      file(GLOB shared_objects ${libraries}/libashlar.so*)
      if(shared_objects)
        file(REMOVE ${shared_objects})
      endif()
    endif()
    step("pkg-config" ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${modules} ${PKG_CONFIG} ${how}
      --cflags --libs ashlar)
    string(FIND "${output}" "${prefix}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "pkg-config does not point into the moved prefix: ${output}")
    endif()
    separate_arguments(flags UNIX_COMMAND "${output}")
    step("building the C consumer" ${CC} -std=c99 -pedantic-errors -Wall -Werror
      ${WORK}/project/consumer.c -o ${WORK}/consumer_c_${kind} ${flags})
    step("building the C++ consumer" ${CXX} -std=c++20 -pedantic-errors -Wall -Werror -pthread
      ${WORK}/project/consumer.cpp -o ${WORK}/consumer_cpp_${kind} ${flags})
    runs_well(${WORK}/consumer_c_${kind} "consumer: c" LD_LIBRARY_PATH=${libraries})
    runs_well(${WORK}/consumer_cpp_${kind} "consumer: c++" LD_LIBRARY_PATH=${libraries})
    # The classic names: the include directory comes from pkg-config and from nowhere else, and so does
    # the C++, unless pkg-config is told another.
    foreach(standard c++20 c++17 c)
      set(program ${CXX} ${WORK}/project/classic.cpp)
      set(asked ashlar-compat)
      if(standard STREQUAL "c++17")
        list(APPEND asked --define-variable=std=-std=c++17)
      elseif(standard STREQUAL "c")
        set(program ${CC} -std=c99 ${WORK}/project/classic.c)
        set(asked ashlar-compat-c)
      endif()
      step("pkg-config" ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${modules} ${PKG_CONFIG} ${how} ${asked}
        --cflags --libs)
      separate_arguments(flags UNIX_COMMAND "${output}")
      step("building the classic ${standard} program" ${program} -pedantic-errors -Wall -Wextra -Werror
        -pthread -o ${WORK}/classic_${standard}_${kind} ${flags})
      runs_well(${WORK}/classic_${standard}_${kind} "classic: ${standard}" LD_LIBRARY_PATH=${libraries})
    endforeach()
  endforeach()
endif()
file(REMOVE_RECURSE ${WORK})
