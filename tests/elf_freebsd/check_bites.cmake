# Proves that check_elf.py can fail: cmake -DPYTHON=... -DCHECK=... -DFROM=... -DFOLDER=... -DCPU=... -DPROGRAM=...
# -P check_bites.cmake
set(suffix .so)
set(arm aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/../support/planted_libraries.cmake)
expect_failure(12 ${CPU} "FreeBSD 12 lacks")
expect_failure(15 ${CPU} "it is for release 14")
copy(libashlar libashlar-malloc)
expect_failure(14 ${CPU} "it does not define .*'malloc'")
