# The tables of tests/README.md as data: which suites a room's unit tests and a folder of tests belong to.

# ashlar_read_suites(<table>): sets suites_<name> for each row to the list of its suites, and suite_rows to the names. A row
# 'ashlar/*' sets suites_ashlar.
function(ashlar_read_suites table)
  file(STRINGS ${table} rows REGEX "^\\| `")
  set(names)
  foreach(row IN LISTS rows)
    if(NOT row MATCHES "^\\| `([a-z_/*]+)` \\| ([a-z0-9 -]*)\\| ([a-z0-9 ]*)\\|")
      message(FATAL_ERROR "${table}: a row begins with name, suites and rooms, but not this one: ${row}")
    endif()
    set(name ${CMAKE_MATCH_1})
    if(name IN_LIST names)
      message(FATAL_ERROR "${table}: two rows are called '${name}'")
    endif()
    list(APPEND names ${name})
    separate_arguments(suites UNIX_COMMAND "${CMAKE_MATCH_2}")
    separate_arguments(checked UNIX_COMMAND "${CMAKE_MATCH_3}")
    list(TRANSFORM checked PREPEND check-)
    string(REPLACE "/*" "" key ${name})  # a variable's name has no star
    set(suites_${key} ${suites} ${checked} PARENT_SCOPE)
  endforeach()
  set(suite_rows ${names} PARENT_SCOPE)
endfunction()

# ashlar_require_rows(<table> <rows> <folders>): fails unless each folder of tests/ has a row, and no other folder has.
function(ashlar_require_rows table rows folders)
  set(missing ${folders})
  list(REMOVE_ITEM missing ${rows})
  set(left_over ${rows})
  list(FILTER left_over EXCLUDE REGEX "/")
  list(REMOVE_ITEM left_over ${folders})
  if(missing OR left_over)
    message(FATAL_ERROR "${table}: folders without a row: ${missing}; rows without a folder: ${left_over}")
  endif()
endfunction()

# ashlar_has_suite(<variable> <suite>...): whether this build has one of the suites.
function(ashlar_has_suite variable)
  set(${variable} TRUE PARENT_SCOPE)
  foreach(suite IN LISTS ASHLAR_TEST_SUITES)
    if(suite IN_LIST ARGN)
      return()
    endif()
  endforeach()
  if(ASHLAR_TEST_SUITES)
    set(${variable} FALSE PARENT_SCOPE)
  endif()
endfunction()
