# Installs the public headers and all that they include, at any depth; no other header of the library.
# Part of the installation (ashlar/CMakeLists.txt), so the includes are those of that moment.
# Needs: ashlar_headers, the folder of the library; ashlar_public_headers, relative to it;
# ashlar_include_folder, where <ashlar/...> is found afterwards.
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)  # an installation knows no other
set(to_read ${ashlar_public_headers})
set(reached "")
while(to_read)
  list(POP_FRONT to_read header)
  if(header IN_LIST reached)
    continue()
  endif()
  list(APPEND reached ${header})
  file(STRINGS ${ashlar_headers}/${header} lines REGEX "^[ \t]*#")
  set(line "")
  foreach(next IN LISTS lines)
    set(before "${line}")
    set(line "${next}")
    if(before STREQUAL "#ifdef ASHLAR_LOADABLE_CLASSES")  # the drop-in library alone reads it
      continue()
    endif()
    if(line MATCHES "^[ \t]*#[ \t]*include[ \t]+[<\"]ashlar/([a-zA-Z0-9_/.]+)[>\"]")
      set(included ${CMAKE_MATCH_1})
    elseif(line MATCHES "^[ \t]*#[ \t]*include[ \t]+\"([a-zA-Z0-9_.]+)\"")  # the classic headers' way
      cmake_path(GET header PARENT_PATH room)
      set(included ${room}/${CMAKE_MATCH_1})
    else()
      continue()
    endif()
    if(EXISTS ${ashlar_headers}/${included})
      list(APPEND to_read ${included})
    elseif(NOT lines MATCHES "__has_include\\(<ashlar/${included}>\\)")  # else it may be absent
      message(FATAL_ERROR "${header} includes ${included}, which is not there")
    endif()
  endforeach()
endwhile()
foreach(header IN LISTS reached)
  cmake_path(APPEND ashlar_include_folder ashlar ${header} OUTPUT_VARIABLE installed)
  cmake_path(GET installed PARENT_PATH room)
  file(INSTALL DESTINATION ${room} TYPE FILE FILES ${ashlar_headers}/${header})
endforeach()
cmake_policy(POP)
