# Links the objects in every order, runs each program, and expects texts of it.
# cmake -DLINK="<compiler and flags>" -DOBJECTS="a.o;b.o;c.o" -DLIBRARIES="..." -DEXPECT="<regex>;..."
#       -DWORK=<scratch folder> -P link_orders.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(program ${WORK}/program)
set(programs 0)

function(link_and_run order)
  execute_process(COMMAND ${LINK} ${order} ${LIBRARIES} -o ${program}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "linking ${order}: ${output}${errors}")
  endif()
  execute_process(COMMAND ${program} TIMEOUT 60
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  foreach(text IN LISTS EXPECT)
    if(NOT code EQUAL 0 OR NOT output MATCHES "${text}")
      message(FATAL_ERROR "order ${order} ended with '${code}' and wrote: ${output}${errors}")
    endif()
  endforeach()
endfunction()

# permute(<objects taken> <objects left>): every order of what is left.
function(permute taken left)
  if(left STREQUAL "")
    link_and_run("${taken}")
    math(EXPR count "${programs} + 1")
    set(programs ${count} PARENT_SCOPE)
    return()
  endif()
  foreach(next IN LISTS left)
    set(others ${left})
    list(REMOVE_ITEM others ${next})
    permute("${taken};${next}" "${others}")
  endforeach()
  set(programs ${programs} PARENT_SCOPE)
endfunction()

permute("" "${OBJECTS}")
if(programs LESS 6 OR NOT EXPECT)
  message(FATAL_ERROR "only ${programs} order(s) of '${OBJECTS}', or no text to expect: the test would prove little")
endif()
message(STATUS "${programs} link orders")
