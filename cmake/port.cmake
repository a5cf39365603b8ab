# A toolchain: Debian's compiler for another Linux, and qemu to run what it makes (`make test-ports`).
# ASHLAR_PORT: aarch64, or i386, which needs no qemu.
# qemu 7.2 takes 24 bytes for each page of 4 KiB that a program maps, also of what is only reserved: 1.6 GB for 256 GiB.
# So the heap's own tests, which reserve hundreds of GiB, are not among those that run there.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ASHLAR_PORT})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASHLAR_PORT)
if(ASHLAR_PORT STREQUAL "i386")
  set(CMAKE_C_COMPILER gcc-12)
  set(CMAKE_CXX_COMPILER g++-12)
  # The kernel's headers. gcc-multilib has a link to them, but cannot be installed beside a cross compiler.
  set(CMAKE_C_FLAGS_INIT "-m32 -idirafter /usr/include/x86_64-linux-gnu")
  set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
else()
  set(CMAKE_C_COMPILER ${ASHLAR_PORT}-linux-gnu-gcc)
  set(CMAKE_CXX_COMPILER ${ASHLAR_PORT}-linux-gnu-g++)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${ASHLAR_PORT}-static -L /usr/${ASHLAR_PORT}-linux-gnu)
endif()
