// os/random_bytes_windows.cpp: os/random_bytes.hpp by the system's generator.
// Layer: os.
#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/windows.hpp>

// RtlGenRandom: of all processes, without a handle, since Windows XP.
extern "C" __declspec(dllimport) BOOLEAN NTAPI SystemFunction036(void* p, ULONG bytes);

namespace ashlar::os {

bool fill_with_random_bytes(void* p, std::size_t bytes) noexcept {
  const error_keeper keeper;
  return ::SystemFunction036(p, static_cast<ULONG>(bytes)) != 0;
}

}  // namespace ashlar::os
