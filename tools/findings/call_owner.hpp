// tools/findings/call_owner.hpp: whose line a block is for. Layer: findings.
//
//   operator new's caller ... std::vector::push_back | xmalloc | parse at parser.cpp:12 | main
//   ------- the standard library: skipped ---------- | skipped | the owner              |
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "tools/trace/call_names.hpp"

namespace ashlar::findings {

using trace::short_name;

/// Returns: the index of the first call, from the inside out, that is a script's; else that is the
/// program's own: neither the standard library's, nor a wrapper (named_call::is_wrapper), nor a
/// function whose name says that it allocates ("xmalloc", "new_arena", "strdup").
/// Where the C or C++ library keeps the block for itself, as fopen does, or nothing else is there:
/// nothing.
[[nodiscard]] std::optional<std::size_t> owner_of(std::span<const trace::named_call> calls);

/// Returns: the same, but for what a library keeps, the program's call of that library.
[[nodiscard]] std::optional<std::size_t> line_of(std::span<const trace::named_call> calls);

/// Returns: the calls without those around main or a thread's function. Of the standard library's at the
/// inner end the one that is called from outside of it stays. All where there are no others.
[[nodiscard]] std::span<const trace::named_call> folded(std::span<const trace::named_call> calls);

/// Whether a call is in a file of the program or of a library that is not the C or C++ library's.
[[nodiscard]] bool is_of_program(const trace::named_call& call);

/// Whether a call is in an interpreter itself, such as python or node: whoever runs a script does not
/// change that.
[[nodiscard]] bool is_of_interpreter(const trace::named_call& call);

/// Returns: the function of a call without its module; empty where it is unknown.
[[nodiscard]] std::string_view function_of(const trace::named_call& call);

/// Whether a call is one of a standard container for a node: one block an element.
[[nodiscard]] bool is_container_node(std::span<const trace::named_call> calls);

}  // namespace ashlar::findings
