// os/call_frame_info.hpp: what the compiler has written down about a call, as a rule.
// Layer: os.
// Formats: DWARF 4, section 6.4 (call frame information); Linux Standard Base 5, section 10.6
// (.eh_frame and .eh_frame_hdr); numbers of registers: System V ABI for AMD64.
#pragma once

#include <cstdint>

#include <ashlar/os/frame_rule.hpp>

namespace ashlar::os {

/// Returns: how the call is left that returns to `address`; `other` where the tables do not tell,
/// or say what a rule cannot. Requires: `table` is the mapped .eh_frame_hdr of the file whose code
/// this is.
[[nodiscard]] frame_rule read_rule(const void* table, std::uintptr_t address) noexcept;

}  // namespace ashlar::os
