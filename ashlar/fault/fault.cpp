// fault/fault.cpp: ashlar_fault, where the program does not define it.
// Layer: fault.
// Law: nothing else is defined here. A program that defines it never pulls this object out of the
// archive.
#include <ashlar/core/fault.hpp>
#include <ashlar/fault/response.hpp>

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  ashlar::detail::end_by_fault(what);
}
