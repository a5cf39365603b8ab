# What each fault comes to, as recorded: of each component, and through malloc.
add_subdirectory(corpus)

# The same faults through malloc, at both ends of the optimiser, on the drop-in library and on peers (matrix.py).
set(malloc_programs)
foreach(level O0 O2)
  add_executable(malloc_faults_${level} faults.c malloc.c)
  ashlar_options(malloc_faults_${level})
  target_compile_options(malloc_faults_${level} PRIVATE -fno-builtin -${level})
  target_link_libraries(malloc_faults_${level} PRIVATE stdc++)
  list(APPEND malloc_programs malloc_faults_${level})
endforeach()
add_library(careless_malloc SHARED careless_malloc.c)
ashlar_options(careless_malloc)
target_compile_options(careless_malloc PRIVATE -fno-builtin)
set_target_properties(${malloc_programs} careless_malloc PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
add_custom_target(misuse_malloc_programs DEPENDS ${malloc_programs} ashlar_malloc ashlar_malloc_hardened)
set(malloc_arguments --programs ${CMAKE_CURRENT_BINARY_DIR} --libraries $<TARGET_FILE_DIR:ashlar_malloc>)
set(all_levels)
if(ASHLAR_TEST_ALL)
  set(all_levels --all)
endif()
add_test(NAME misuse_malloc_matrix
  COMMAND ${ASHLAR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/matrix.py malloc ${malloc_arguments} --check ${all_levels})
add_test(NAME planted_misuse_matrix
  COMMAND ${ASHLAR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/matrix_bites.py ${malloc_arguments}
    --corpus ${CMAKE_CURRENT_BINARY_DIR}/corpus)
set_tests_properties(misuse_malloc_matrix PROPERTIES TIMEOUT 300 LABELS misuse COST 20)
set_tests_properties(planted_misuse_matrix PROPERTIES TIMEOUT 240 LABELS "misuse;planted")
