# Builds a project with ashlar as a folder of it: its build type holds, nothing is built that it does not link, and
# nothing of ashlar is installed with it unless it says so.
# Run: cmake -DROOT=<checkout> -DSOURCE=<this folder> -DWORK=<scratch folder> -DCC=<C compiler>
#        -DCXX=<C++ compiler> -DGENERATOR=<generator> -P subproject.cmake
cmake_minimum_required(VERSION 3.25)
macro(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} has failed (${code}):\n${output}")
  endif()
endmacro()

unset(ENV{CMAKE_BUILD_TYPE})
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/project/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CXX)
add_custom_target(check_layers)  # a name that is the project's own
add_subdirectory(${ROOT} ashlar)
if(CMAKE_BUILD_TYPE)
  message(FATAL_ERROR \"ashlar has set the build type '\${CMAKE_BUILD_TYPE}'\")
endif()
add_executable(program program.cpp)
target_link_libraries(program PRIVATE ashlar::ashlar ashlar::compat)
install(TARGETS program)
")
file(WRITE ${WORK}/project/program.cpp "#include <ashlar/ashlar.hpp>
#include \"xallocator.h\"
int main() {
  void* const block = xmalloc(100);
  xfree(block);
  return block == nullptr;
}
")
step("configuring" ${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build -G ${GENERATOR} -DCMAKE_UNITY_BUILD=ON
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX})
step("building" ${CMAKE_COMMAND} --build ${WORK}/build)
step("running" ${WORK}/build/program)
file(GLOB_RECURSE built RELATIVE ${WORK}/build ${WORK}/build/*.a ${WORK}/build/*.so* ${WORK}/build/ashlar-malloc.o)
if(NOT built STREQUAL "ashlar/ashlar/libashlar.a")
  message(FATAL_ERROR "the program links the static library, but built were: ${built}")
endif()
step("installing" ${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
if(NOT installed STREQUAL "bin/program")
  message(FATAL_ERROR "the program is installed, but so were: ${installed}")
endif()

step("configuring, ashlar to be installed" ${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build
  -DASHLAR_INSTALL=ON)
# It would build all of them. Here empty files take the places of those that this build's own tests compile and use.
step("building the manual page" ${CMAKE_COMMAND} --build ${WORK}/build --target ashlar_manual)
if(GENERATOR STREQUAL "Ninja")
  file(STRINGS ${WORK}/build/build.ninja all REGEX "^build ashlar/ashlar/all: phony ")
  foreach(name libashlar.so libashlar-malloc.so libashlar-malloc-hardened.so ashlar_malloc_object ashlar_manual)
    if(NOT all MATCHES "${name}")
      message(FATAL_ERROR "${name} is to be installed, but is not among all: ${all}")
    endif()
  endforeach()
endif()
file(READ ${WORK}/build/ashlar/ashlar/cmake_install.cmake script)
string(REGEX MATCHALL "\"${WORK}/build/ashlar/ashlar/[^\"/]+\\.s?o[.0-9]*\"" libraries "${script}")
foreach(library IN LISTS libraries)
  string(REPLACE "\"" "" library ${library})
  file(TOUCH ${library})
endforeach()
step("installing all" ${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
foreach(name libashlar.a libashlar.so libashlar-malloc.so libashlar-malloc-hardened.so ashlar-malloc.o ashlarConfig.cmake
    ashlar.3 LICENSE)
  file(GLOB_RECURSE found ${WORK}/prefix/${name})
  if(found STREQUAL "")
    message(FATAL_ERROR "${name} was not installed")
  endif()
endforeach()

file(WRITE ${WORK}/prefix/lib/of_another.txt "stays")
step("uninstalling" ${CMAKE_COMMAND} -DBUILD=${WORK}/build -P ${ROOT}/cmake/uninstall.cmake)
file(GLOB_RECURSE left LIST_DIRECTORIES TRUE RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
if(NOT left STREQUAL "lib;lib/of_another.txt")
  message(FATAL_ERROR "left after the uninstallation: ${left}")
endif()
