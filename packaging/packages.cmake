# The Debian packages, by CPack: `make packages` (packaging/README.md). Included with ASHLAR_PACKAGES only.
# The components that the install rules name become one package each.
if(NOT TARGET ashlar_cli)
  message(FATAL_ERROR "the packages need the ashlar command, and what it needs was not found")
endif()
find_program(ASHLAR_GZIP gzip REQUIRED)
set(ASHLAR_PACKAGE_MAINTAINER "The Ashlar authors <authors@ashlar.invalid>" CACHE STRING
  "Name and address in the packages, of the person who distributes them")

# Debian's rule: the shared library's package has the version of its SONAME in its name.
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(package_ashlar_malloc ashlar-malloc)
set(package_ashlar_library libashlar${abi})
set(package_ashlar_development libashlar-dev)
set(package_ashlar_tools ashlar-tools)
set(CPACK_COMPONENTS_ALL ashlar_malloc ashlar_library ashlar_development ashlar_tools)

set(CPACK_COMPONENT_ASHLAR_MALLOC_DESCRIPTION "drop-in malloc made of fixed-size blocks
Preload libashlar-malloc.so, and a program that is not changed takes its memory
from ashlar: malloc and its family, operator new and operator delete. A free
of what is no live block ends the program with one line about the fault.

The package also has libashlar-malloc-hardened.so, the hardened edition, for
programs whose misuse of memory may be an attack.")
set(CPACK_COMPONENT_ASHLAR_LIBRARY_DESCRIPTION "fixed-block memory management (shared library)
The library has a general heap, heaps with a budget, pools, arenas, and an
xmalloc for C. This package has what programs need that are linked with it.")
set(CPACK_COMPONENT_ASHLAR_DEVELOPMENT_DESCRIPTION "fixed-block memory management (development files)
The headers, the static library, the files for find_package and pkg-config,
and ashlar-malloc.o, the drop-in malloc for programs that are linked
statically. The pools and arenas need no heap: they are headers only.")
set(CPACK_COMPONENT_ASHLAR_TOOLS_DESCRIPTION "command that runs, records and tunes programs on ashlar
The ashlar command runs a program on ashlar's malloc, compares the allocators
that are installed, checks a program for misuses of memory, and records its
allocations. From a recording it chooses pools or block sizes for the
program, proves the choice by replay, and writes a report.")
set(CPACK_DEBIAN_ASHLAR_MALLOC_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ASHLAR_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ASHLAR_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_ASHLAR_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_ASHLAR_DEVELOPMENT_PACKAGE_SUGGESTS "cmake, pkgconf")
set(CPACK_COMPONENT_ASHLAR_DEVELOPMENT_DEPENDS ashlar_library)  # both of one version
set(CPACK_COMPONENT_ASHLAR_TOOLS_DEPENDS ashlar_malloc)

# Tags of lintian that are right of a package, and no fault of it.
set(lintian_of_all "# The packages are not made for an upload to Debian, so there is no bug to close.
@package@: initial-upload-closes-no-bugs
")
set(lintian_ashlar_library "# CPack writes these scripts itself. They do what the trigger does.
@package@: maintscript-calls-ldconfig
")
set(lintian_ashlar_malloc "${lintian_ashlar_library}# Nobody links with what is preloaded by its plain name, which stays.
@package@: shared-library-lacks-version
@package@: package-name-doesnt-match-sonames
")
set(lintian_ashlar_tools "${lintian_ashlar_malloc}# It reads there which package a library is of, to name the package with its debug information.
@package@: uses-dpkg-database-directly [usr/bin/ashlar]
")

# What every package has in /usr/share: licence, change logs, and the explained tags of lintian.
file(READ ${PROJECT_SOURCE_DIR}/LICENSE own_license)
file(READ ${PROJECT_SOURCE_DIR}/third_party/uplot/LICENSE uplot_license)
foreach(license own_license uplot_license)
  string(REGEX MATCH "Copyright \\(c\\) ([^\n]+)" ignored "${${license}}")
  set(${license}_holder "${CMAKE_MATCH_1}")
endforeach()
string(REGEX REPLACE ".*(Permission is hereby granted.*)" "\\1" expat "${own_license}")
string(STRIP "${expat}" expat)
string(REPLACE "\n" "\n " expat " ${expat}")
string(REPLACE "\n \n" "\n .\n" expat "${expat}")
set(documents ${CMAKE_CURRENT_BINARY_DIR}/packaging)
string(TIMESTAMP debian_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(package ${package_${component}})
  set(folder ${documents}/${package})
  set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ashlar

Files: *
Copyright: ${own_license_holder}
License: Expat
")
  if(component STREQUAL "ashlar_tools")  # each report holds it
    string(APPEND copyright "
Files: third_party/uplot/*
Copyright: ${uplot_license_holder}
License: Expat
")
  endif()
  file(WRITE ${folder}/copyright "${copyright}
License: Expat
${expat}
")
  file(COPY_FILE ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${folder}/changelog)
  file(WRITE ${folder}/changelog.Debian "ashlar (${PROJECT_VERSION}-1) unstable; urgency=medium

  * Packaged by CPack; changelog.gz tells what is new.

 -- ${ASHLAR_PACKAGE_MAINTAINER}  ${debian_date}
")
  execute_process(COMMAND ${ASHLAR_GZIP} -9nf ${folder}/changelog ${folder}/changelog.Debian
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${folder}/copyright ${folder}/changelog.gz ${folder}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  string(REPLACE "@package@" "${package}" overrides "${lintian_of_all}${lintian_${component}}")
  file(WRITE ${folder}/${package} "${overrides}")
  install(FILES ${folder}/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
endforeach()

# What dpkg does for shared libraries: it renews its list of them, and a package of a program finds whose they are.
file(WRITE ${documents}/triggers "activate-noawait ldconfig\n")
file(WRITE ${documents}/shlibs "libashlar ${abi} ${package_ashlar_library} (>= ${PROJECT_VERSION})\n")
foreach(upper ASHLAR_MALLOC ASHLAR_LIBRARY ASHLAR_TOOLS)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${documents}/triggers)
endforeach()
list(APPEND CPACK_DEBIAN_ASHLAR_LIBRARY_PACKAGE_CONTROL_EXTRA ${documents}/shlibs)

# Debian's rule: manual pages are compressed. They are installed before.
foreach(section_and_component 1:ashlar_tools 3:ashlar_development)
  string(REPLACE ":" ";" section_and_component ${section_and_component})
  list(GET section_and_component 0 section)
  list(GET section_and_component 1 component)
  install(CODE "
    file(GLOB ashlar_pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man${section}/*.${section}\")
    execute_process(COMMAND \"${ASHLAR_GZIP}\" -9nf \${ashlar_pages} COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ashlar)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # the first line of each description is its own
set(CPACK_PACKAGE_CONTACT "${ASHLAR_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE ashlar)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
include(CPack)
