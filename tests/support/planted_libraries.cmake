# What proves that a check of the built libraries can fail (mach_o, elf_freebsd): it looks at wrong copies of them.
# Given: PYTHON, CHECK; FROM, the libraries' folder; FOLDER, of the copies; CPU, and PROGRAM where the check takes one;
# set before this is included: suffix, of the libraries' names, and arm, as the system calls that processor.
function(expect_failure release cpu sentence)
  execute_process(COMMAND ${PYTHON} -B ${CHECK} ${FOLDER} ${release} ${cpu} ${PROGRAM} RESULT_VARIABLE result
    ERROR_VARIABLE said)
  if(result EQUAL 0 OR NOT said MATCHES "${sentence}")
    message(FATAL_ERROR "planted: ${sentence}\nfound: ${said}")
  endif()
endfunction()
function(copy from to)
  file(COPY_FILE ${FROM}/${from}${suffix} ${FOLDER}/${to}${suffix})
endfunction()
set(other ${arm})
if(CPU STREQUAL "${arm}")
  set(other x86_64)
endif()
file(MAKE_DIRECTORY ${FOLDER})
foreach(name libashlar libashlar-malloc libashlar-malloc-hardened)
  copy(${name} ${name})
endforeach()
expect_failure(0 ${other} "it is not for ${other}")
