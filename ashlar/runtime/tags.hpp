// runtime/tags.hpp: the scopes of tags that the calling thread has open (adapt/tags.h).
// Layer: runtime. In the drop-in library alone, since it is the one that samples.
//
// A scope is the program's: the memory of one that was left without its end (longjmp, a coroutine
// that went on elsewhere) may be gone, or have something else in it. So a scope is looked at only
// when a block is sampled or scopes end out of turn. It counts if it can be read, and has the right
// check word.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>
#include <ashlar/core/tag.h>

namespace ashlar::runtime {

/// Null: none is open. A signal's handler may change it at any moment, and back.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local const ashlar_tag* innermost_tag;

/// Effects: the innermost scope is one that can be read, or null. If `ended` is not null, that
/// scope ends though it is not its turn, and all that are in it; nothing ends if it is not open in
/// this thread. One line on standard error, the first time.
ASHLAR_COLD void mend_tags(const ashlar_tag* ended) noexcept;

/// Effects: stores the name of the calling thread's innermost scope, of at most `room` characters;
/// what is not printable ASCII becomes a question mark. Returns: its length; 0: it has no name;
/// more than `room`: it is longer.
[[nodiscard]] std::size_t read_own_tag(char* name, std::size_t room) noexcept;

}  // namespace ashlar::runtime
