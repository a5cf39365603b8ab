// os/call_filter.hpp: whether the process has closed itself into a sandbox, which ends it for some
// system calls.
// Layer: os. One file per system implements it.
//
// A program allows in its sandbox what its own code and the C library's malloc need. So once it has
// started, the library makes other kinds of system calls only after it has asked here
// (docs/reliability.md has the list).
#pragma once

namespace ashlar::os {

/// Effects: what filters the process has now does not count: whoever started it knows what is in
/// it. Only the first call has an effect.
void note_call_filters() noexcept;

/// Returns: whether a system call that is none of malloc's may end the calling thread: a filter
/// came after `note_call_filters`, or it cannot be told. Before that call, false. Keeps errno.
/// Thread-safe. On Linux 100 us for the first time, then
/// 13; a load after it was true.
[[nodiscard]] bool has_new_call_filter() noexcept;

/// Returns: whether it is known that a filter came, without any look. A load.
[[nodiscard]] bool is_in_sandbox() noexcept;

/// Effects: has_new_call_filter and is_in_sandbox say so from now on, without a look.
void expect_call_filter(bool comes) noexcept;

/// What a library does before a call that may bring a filter, and when that has come. Defined by
/// each library that has filter_entry_linux.cpp.
void before_call_filter(bool is_strict) noexcept;
void after_call_filter() noexcept;

}  // namespace ashlar::os
