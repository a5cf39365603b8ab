// runtime/fault.cpp: ashlar_fault, where the program does not define it.
// Layer: runtime.
// Law: nothing else is defined here. A program that defines it never pulls this object out of the
// archive.
#include <ashlar/core/fault.hpp>
#include <ashlar/runtime/fault_response.hpp>

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  ashlar::runtime::end_by_fault(what);
}
