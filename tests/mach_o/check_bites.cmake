# Proves that check_mach_o.py can fail: cmake -DPYTHON=... -DCHECK=... -DFROM=... -DFOLDER=... -DCPU=... -P check_bites.cmake
set(suffix .dylib)
set(arm arm64)
include(${CMAKE_CURRENT_LIST_DIR}/../support/planted_libraries.cmake)
expect_failure(12.0 ${CPU} "it is for macOS 11.0 or newer, not 12.0")
copy(libashlar libashlar-malloc)
expect_failure(11.0 ${CPU} "no section __DATA,__interpose")
copy(libashlar-malloc libashlar)
expect_failure(11.0 ${CPU} "libashlar.dylib: it replaces functions")
