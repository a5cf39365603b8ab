# A toolchain for another system or processor, and what runs the programs that it makes (`make test-ports`).
# ASHLAR_PORT is one of:
#   aarch64 armhf riscv64 s390x   Debian's cross compiler, and qemu to run what it makes
#   i386                          the compiler of this machine
#   musl                          zig's compiler (scripts/zig.py), and Debian's musl to run what it makes
#   wasm32                        zig's compiler, and Node.js to run what it makes: the layers that need no system, malloc
#   windows                       zig's compiler, and wine to run what it makes
#   macos-arm64 macos-x86_64      zig's compiler. Nothing here runs what it makes
#   freebsd-x86_64 freebsd-aarch64
#                                 zig's compiler. Nothing here runs what it makes
#   posix                         the compiler of this machine, for Linux with the parts of os that other systems have
#   glibc217                      zig's compiler, for glibc 2.17; this machine's glibc runs what it makes
# qemu 7.2 takes 24 bytes for each page of 4 KiB that a program maps, also of what is only reserved: 1.6 GB for 256 GiB.
# So what reserves hundreds of GiB is left out there (tests/support/extent.hpp).
set(CMAKE_SYSTEM_NAME Linux)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASHLAR_PORT)
if(ASHLAR_PORT STREQUAL "i386")
  set(CMAKE_SYSTEM_PROCESSOR i386)
  set(CMAKE_C_COMPILER gcc-12)
  set(CMAKE_CXX_COMPILER g++-12)
  # The kernel's headers. gcc-multilib has a link to them, but cannot be installed beside a cross compiler.
  set(CMAKE_C_FLAGS_INIT "-m32 -idirafter /usr/include/x86_64-linux-gnu")
  set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
elseif(ASHLAR_PORT STREQUAL "wasm32")
  set(CMAKE_SYSTEM_NAME Generic)
  set(CMAKE_SYSTEM_PROCESSOR wasm32)
  set(zig ${CMAKE_CURRENT_LIST_DIR}/../build/zig/zig)
  set(CMAKE_C_COMPILER ${zig} cc -target wasm32-wasi)
  set(CMAKE_CXX_COMPILER ${zig} c++ -target wasm32-wasi)
  set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=undefined")
  find_program(ASHLAR_NODE node REQUIRED)
  # Node.js 18 asks for the flag.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ASHLAR_NODE} --no-warnings --experimental-wasi-unstable-preview1
    ${CMAKE_CURRENT_LIST_DIR}/../tests/wasm/run.mjs)
elseif(ASHLAR_PORT STREQUAL "windows")
  # Not gcc, whose thread-local objects are calls here, and are gone before a thread's end is told.
  set(CMAKE_SYSTEM_NAME Windows)
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
  set(zig ${CMAKE_CURRENT_LIST_DIR}/../build/zig/zig)
  set(CMAKE_C_COMPILER ${zig} cc -target x86_64-windows-gnu)
  set(CMAKE_CXX_COMPILER ${zig} c++ -target x86_64-windows-gnu)
  set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined")
  set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
  find_program(ASHLAR_WINE wine64 wine PATHS /usr/lib/wine REQUIRED)  # where Debian has it without the package wine
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ASHLAR_WINE})
elseif(ASHLAR_PORT MATCHES "^macos-(arm64|x86_64)$")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
  set(zig ${CMAKE_CURRENT_LIST_DIR}/../build/zig/zig)
  string(REPLACE arm64 aarch64 target ${CMAKE_MATCH_1}-macos.11.0)
  set(CMAKE_C_COMPILER ${zig} cc -target ${target})
  set(CMAKE_CXX_COMPILER ${zig} c++ -target ${target})
  set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined")
  # First and whole: zig's <math.h> takes half of <float.h>, and the other half is not there any more for GoogleTest.
  set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -U__STRICT_ANSI__ -include float.h")
  set(CMAKE_OSX_SYSROOT "")
  set(CMAKE_OSX_DEPLOYMENT_TARGET "")  # the target has it
  foreach(language C CXX)  # this machine's archiver does not know the files
    set(CMAKE_${language}_ARCHIVE_CREATE "${zig} ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
    set(CMAKE_${language}_ARCHIVE_APPEND "${zig} ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
    set(CMAKE_${language}_ARCHIVE_FINISH "${zig} ranlib <TARGET>")
  endforeach()
  set(ASHLAR_IS_NOT_RUN TRUE)  # cmake/ashlar_targets.cmake
elseif(ASHLAR_PORT MATCHES "^freebsd-(x86_64|aarch64)$")
  set(CMAKE_SYSTEM_NAME FreeBSD)
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
  set(zig ${CMAKE_CURRENT_LIST_DIR}/../build/zig/zig)
  set(target ${CMAKE_MATCH_1}-freebsd.14.0)
  set(CMAKE_C_COMPILER ${zig} cc -target ${target})
  set(CMAKE_CXX_COMPILER ${zig} c++ -target ${target})
  set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined -fomit-frame-pointer")
  set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,--build-id=sha1)  # which zig writes on demand only
  set(objdump objdump)  # GNU's, as scripts/ports_report.py needs it
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(objdump aarch64-linux-gnu-objdump)
    # Its <machine/proc.h>, which GoogleTest includes, and clang's <ptrauth.h> both define ptrauth_key.
    string(APPEND CMAKE_CXX_FLAGS_INIT " -D__PTRAUTH_H")
  endif()
  set(CMAKE_OBJDUMP ${objdump} CACHE FILEPATH "Disassembler")
  set(ASHLAR_IS_NOT_RUN TRUE)  # cmake/ashlar_targets.cmake
elseif(ASHLAR_PORT STREQUAL "posix")
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
  set(CMAKE_C_COMPILER gcc-12)
  set(CMAKE_CXX_COMPILER g++-12)
elseif(ASHLAR_PORT MATCHES "^(musl|glibc217)$")
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
  set(zig ${CMAKE_CURRENT_LIST_DIR}/../build/zig/zig)
  set(target x86_64-linux-musl)
  if(ASHLAR_PORT STREQUAL "glibc217")
    set(target x86_64-linux-gnu.2.17)
  endif()
  set(CMAKE_C_COMPILER ${zig} cc -target ${target})
  set(CMAKE_CXX_COMPILER ${zig} c++ -target ${target})
  # zig adds checks of its own where nothing is optimised, and keeps frame pointers.
  set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined -fomit-frame-pointer")
  set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
  foreach(tool nm objcopy objdump)  # those of this machine's processor know the files
    string(TOUPPER CMAKE_${tool} variable)
    set(${variable} ${tool})
  endforeach()
  set(CMAKE_LINKER ld)
  # As the programs of a musl system; zig links statically otherwise, and writes no build id.
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-dynamic -Wl,--build-id=sha1")
else()
  set(CMAKE_SYSTEM_PROCESSOR ${ASHLAR_PORT})
  set(triplet ${ASHLAR_PORT}-linux-gnu)
  if(ASHLAR_PORT STREQUAL "armhf")
    set(CMAKE_SYSTEM_PROCESSOR arm)
    set(triplet arm-linux-gnueabihf)
  endif()
  set(CMAKE_C_COMPILER ${triplet}-gcc)
  set(CMAKE_CXX_COMPILER ${triplet}-g++)
  find_program(ASHLAR_QEMU qemu-${CMAKE_SYSTEM_PROCESSOR}-static REQUIRED)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ASHLAR_QEMU} -L /usr/${triplet})
endif()
