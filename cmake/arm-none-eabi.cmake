# Toolchain file: Arm Cortex-M by Debian's gcc-arm-none-eabi (scripts/setup.sh bare-metal). ASHLAR_CPU chooses the core.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # a program would need a board

set(ASHLAR_CPU cortex-m4 CACHE STRING "-mcpu of the device")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASHLAR_CPU)
set(CMAKE_C_FLAGS_INIT "-mcpu=${ASHLAR_CPU} -mthumb -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -fno-exceptions -fno-rtti -fno-threadsafe-statics")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -Wl,--gc-sections,--fatal-warnings")

# ctest runs what was built on the emulated device.
find_program(ASHLAR_QEMU_ARM qemu-system-arm)
if(ASHLAR_QEMU_ARM)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ASHLAR_QEMU_ARM} -M netduinoplus2 -nographic -monitor none -serial none
    -chardev stdio,id=out -semihosting-config enable=on,target=native,chardev=out
    -icount shift=7,align=off,sleep=off -kernel)
endif()
