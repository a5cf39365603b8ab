# Plants includes in a small tree, and requires that behind_public_headers.sh refuses them.
# Run: cmake -DSCRIPT=<behind_public_headers.sh> -DCXX=<compiler> -DWORK=<empty folder>
#        -P behind_public_headers_bites.cmake
cmake_minimum_required(VERSION 3.25)

# expect(<exit code> <what is planted> <text that the output must hold>)
function(expect code what message)
  execute_process(COMMAND ${SCRIPT} ${WORK} ${CXX} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(FIND "${text}" "${message}" at)
  if(NOT result EQUAL code OR at EQUAL -1)
    message(FATAL_ERROR "${what}: no ${code} that says '${message}' (${result}):\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
foreach(header ashlar.h ashlar.hpp freestanding.hpp adapt/asan_report.hpp adapt/new_delete.hpp adapt/test_scope.h
        adapt/tags.h adapt/test_scope.hpp compat/xvector.h heap/hit_path.hpp
        heap/central.hpp check/full_check.hpp fault/report.hpp runtime/process_heap.hpp instance/heap_space.hpp)
  file(WRITE ${WORK}/ashlar/${header} "")
endforeach()
string(REPEAT "int x();\n\n  // a comment\n" 1299 lines)
file(WRITE ${WORK}/ashlar/adapt/allocator.hpp "#include <ashlar/heap/hit_path.hpp>\n${lines}")
expect(0 "the hits alone" "allocator.hpp: 2 headers, 1300 lines of code")
file(WRITE ${WORK}/ashlar/heap/hit_path.hpp "int x();\n")
expect(1 "a line too many" "allocator.hpp: 2 headers, 1301 lines of code; at most 1300 are allowed")
file(WRITE ${WORK}/ashlar/heap/hit_path.hpp "")
foreach(inner heap/central.hpp check/full_check.hpp fault/report.hpp runtime/process_heap.hpp instance/heap_space.hpp)
  foreach(header ashlar.hpp compat/xvector.h)
    file(WRITE ${WORK}/ashlar/${header} "#include <ashlar/${inner}>\n")
    expect(1 "${inner} in ${header}" "ashlar/${header}: behind it are 1 of the heap's own headers, as ashlar/${inner}")
    file(WRITE ${WORK}/ashlar/${header} "")
  endforeach()
endforeach()
file(REMOVE_RECURSE ${WORK})
