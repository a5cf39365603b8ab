// core/control_protocol.hpp: where a process's control socket is, and how a request and its answer
// begin.
// Layer: core (freestanding). docs/control-protocol.md is the same in words.
//
//   a request:  ashlar 1 stats\n
//   an answer:  ashlar 1 ok    0000000000000042\n   and so many bytes
//               ashlar 1 error 0000000000000017\n   and so many bytes, which say why
#pragma once

#include <cstddef>

namespace ashlar::control_protocol {

inline constexpr unsigned version = 1;
/// How each line begins. Behind it come the version and a blank.
inline constexpr char word[] = "ashlar ";

/// The longest request, its end of line included: two paths fit.
inline constexpr std::size_t request_bytes_max = 8400;
/// The first line of an answer always has this length.
inline constexpr std::size_t head_bytes = 32;

/// A path of the record request ends here, and the next one begins.
inline constexpr char between_paths = '\t';

/// The socket of process 4711 is 4711.sock in the first of these folders that can be had:
/// $XDG_RUNTIME_DIR/ashlar, and /tmp/ashlar-UID. Nobody but the owner may enter them.
inline constexpr char runtime_subfolder[] = "/ashlar";
inline constexpr char shared_folder[] = "/tmp/ashlar-";
inline constexpr char name_end[] = ".sock";

}  // namespace ashlar::control_protocol
